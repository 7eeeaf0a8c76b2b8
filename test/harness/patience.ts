/** For `vi.waitFor`: as long as a machine that does much else may take. */
export const PATIENCE = { timeout: 30_000, interval: 20 };
