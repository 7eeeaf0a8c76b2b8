import { main } from "../src/program.ts";
import type { Output } from "../src/terminal/output.ts";

/** The output and exit code of a command. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Discards everything. For commands whose stderr is not a terminal. */
export const SILENT: Output = {
  interactive: false,
  columns: 80,
  product: async () => undefined,
  note: () => undefined,
  status: () => undefined,
};

/** Runs `xfn` in this process, with a stderr that is not a terminal. */
export async function runXfn(args: readonly string[]): Promise<Finished> {
  const written = { stdout: "", stderr: "" };
  const code = await main(args, {
    ...SILENT,
    product: async (chunk) => void (written.stdout += Buffer.from(chunk).toString()),
    note: (line) => void (written.stderr += `${line}\n`),
  });
  return { code, ...written };
}
