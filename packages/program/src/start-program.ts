// Runs on old releases of Node too, which must get as far as the message: it imports nothing that they lack by name.
import nodeModule from "node:module";
import process from "node:process";
import { ExitCode } from "./exit-code.ts";

/** `engines` in package.json. */
const OLDEST_NODE = 24;

/** How a program starts. */
export interface ProgramStart {
  /** For messages. */
  readonly name: string;
  /**
   * The folder of the compile cache, from which Node runs code: only this user may be able to write there. Default, and
   * if it throws: no cache. Node's own choice is a folder of all users.
   */
  readonly compileCacheDir?: () => string | undefined;
  /** Tunes V8 before modules of the program are loaded. An older Node may lack what it needs, and does not call it. */
  readonly prepare?: () => void;
  /** Whether messages about internal errors include the stack. */
  readonly stacks: boolean;
  /** Imports the program. The compile cache helps only modules that are imported after it is enabled. */
  readonly load: () => Promise<{ main(args: readonly string[]): Promise<number> }>;
}

/** Checks the release of Node, enables the compile cache, runs the program and sets the exit code. */
export async function startProgram({ name, compileCacheDir, prepare, stacks, load }: ProgramStart): Promise<void> {
  const say = (text: string): void => void process.stderr.write(`${name}: ${text}\n`);
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    say(`needs Node ${OLDEST_NODE} or newer, but runs on ${process.version}; install it from https://nodejs.org`);
    process.exitCode = ExitCode.failed;
    return;
  }
  prepare?.();
  enableCompileCache(compileCacheDir);
  const describe = (error: unknown): string => {
    if (!(error instanceof Error)) return String(error);
    return stacks ? (error.stack ?? error.message) : `${error.message} (XFN_DEBUG=1 prints the stack)`;
  };
  process.on("uncaughtException", (error) => {
    say(`internal error: ${describe(error)}`);
    process.exit(ExitCode.failed);
  });
  try {
    const { main } = await load();
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    // main reports all other errors: only a damaged installation can fail here.
    say(`cannot start: ${describe(error)}`);
    process.exitCode = ExitCode.failed;
  }
}

function enableCompileCache(folder: ProgramStart["compileCacheDir"]): void {
  try {
    const dir = folder?.();
    if (dir !== undefined) nodeModule.enableCompileCache(dir);
  } catch {
    // There is no cache folder. The commands that need one report it.
  }
}
