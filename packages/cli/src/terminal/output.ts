import { CliError } from "../errors/cli-error.ts";
import { safeForTerminal } from "./safe-for-terminal.ts";

/** The output of commands. Tests pass their own. */
export interface Output {
  /** Writes a command's product to stdout, and resolves when it is flushed. */
  product(text: string | Uint8Array): Promise<void>;
  /** Writes one line to stderr. */
  note(line: string): void;
  /** Shows a line at the bottom of the terminal until the next call. Does nothing if stderr is not a terminal. */
  status(line: string | undefined): void;
  /** Whether stderr is a terminal that can redraw a line. */
  readonly interactive: boolean;
  /** Columns of that terminal. */
  readonly columns: number;
  /** Columns of stdout, if that is a terminal. */
  readonly productColumns?: number | undefined;
}

const DEFAULT_COLUMNS = 80;
const CLEAR_LINE = "\r\u001b[K";

/** The process's own streams. */
export function processOutput(): Output {
  const { stderr } = process;
  // Without a listener, a closed stderr would end the process with a stack trace that cannot be printed.
  stderr.on("error", () => undefined);
  const interactive = stderr.isTTY && process.env["TERM"] !== "dumb";
  let shown: string | undefined;
  return {
    interactive,
    get columns() {
      // 0 if unknown.
      return stderr.columns || DEFAULT_COLUMNS;
    },
    get productColumns() {
      return process.stdout.columns || undefined;
    },
    product: async (text) => {
      if (shown !== undefined) stderr.write(CLEAR_LINE);
      shown = undefined;
      // A file or another program gets the bytes as they are.
      await writeStdout(process.stdout.isTTY && typeof text === "string" ? safeForTerminal(text) : text);
    },
    note: (given) => {
      const line = safeForTerminal(given);
      stderr.write(shown === undefined ? `${line}\n` : `${CLEAR_LINE}${line}\n${shown}`);
    },
    status: (line) => {
      // A wrapped line could not be cleared.
      const short =
        line === undefined ? undefined : safeForTerminal(line).slice(0, (stderr.columns || DEFAULT_COLUMNS) - 1);
      if (!interactive || short === shown) return;
      stderr.write(`${shown === undefined ? "" : CLEAR_LINE}${short ?? ""}`);
      shown = short;
    },
  };
}

function writeStdout(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(outputError(error));
    process.stdout.once("error", fail);
    process.stdout.write(text, (error) => {
      if (error) {
        fail(error);
        return;
      }
      process.stdout.off("error", fail);
      resolve();
    });
  });
}

function outputError(error: NodeJS.ErrnoException): CliError {
  // `xfn render ... | head -1` is usual: print no message, only set the exit code.
  if (error.code === "EPIPE") return new CliError("Failed", "", { cause: error });
  return new CliError("Failed", `cannot write to stdout: ${error.message}`, { cause: error });
}
