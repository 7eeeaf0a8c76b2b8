import { addRender } from "./commands/render.ts";
import { runProgram } from "./run-program.ts";
import { type Output, processOutput } from "./terminal/output.ts";

/** Runs `xfn render` as `program.ts` does, without loading and declaring the other commands. */
export async function main(args: readonly string[], output: Output = processOutput()): Promise<number> {
  return await runProgram(args, output, [addRender]);
}
