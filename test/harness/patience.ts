/** Options for `vi.waitFor` that allow for a busy machine. */
export const PATIENCE = { timeout: 30_000, interval: 20 };
