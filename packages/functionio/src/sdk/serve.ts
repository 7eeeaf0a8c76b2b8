import { decodeText, isObject, kindOf, positionsInJson, readAsJson, resolveLimits } from "@xfn/json/sdk";
import { checkFunctionIO } from "../function-io/check-functionio.ts";
import type { FunctionIO } from "../function-io/functionio.ts";
import { FunctionIOError } from "../function-io/functionio-error.ts";
import { printFunctionIO } from "../function-io/print.ts";
import { asksForGrpc } from "./asks-for-grpc.ts";
import { withoutOurFrames } from "./compose.ts";
import type { PipelineRun } from "./pipeline-run.ts";
import { readStdin, writeStdout } from "./stdio.ts";

/** A function that can be served: the result of `compose`. */
export type Servable = (io: FunctionIO, run?: PipelineRun) => FunctionIO | Promise<FunctionIO>;

/** The part of `@xfn/function-grpc/serve` that serves a function. */
export interface GrpcServing {
  serveGrpc(fn: Servable): Promise<void>;
}

/** Milliseconds that a process can continue after its output. Then open timers and connections are cut off. */
const LINGER_MS = 1000;
const SOURCE = "stdin";
const READ = { source: SOURCE, untyped: true } as const;

/** Advice to functions that throw, or do not return a FunctionIO. Functions of `compose` do neither. */
const NOT_COMPOSED = "if it is a handler, write: export default compose(handler)";

let serving = false;

/**
 * Serves gRPC if the program's flags or environment ask for it, else one call: FunctionIO from stdin, handler,
 * FunctionIO to stdout. Errors of the handler are fatal results with exit code 0. Input that is not a FunctionIO, and
 * output that cannot be written, exit with 1 and a message on stderr. Only the first call in a process counts, so that
 * an entry can serve a file that serves itself.
 *
 * @param loadGrpc loads the gRPC server, which each call by FunctionIO can do without
 */
export function serve(fn: Servable, loadGrpc?: () => Promise<GrpcServing>): void {
  if (serving) return;
  serving = true;
  keepStdoutClean();
  // Node would print the bundle's line too, which is thousands of characters long.
  process.on("uncaughtException", (error) => {
    stop(error);
    process.exit(1);
  });
  if (typeof fn !== "function") {
    stop("the function's file has no default export made by compose()");
    return;
  }
  if (asksForGrpc(process.argv.slice(2), process.env)) {
    if (loadGrpc === undefined)
      stop("only a function that `xfn build` built serves gRPC: build it, or remove the flags");
    else
      loadGrpc()
        .then(({ serveGrpc }) => serveGrpc(checked(fn)))
        .catch(stop);
    return;
  }
  let io: FunctionIO | undefined;
  let done = false;
  const finish = (output: FunctionIO): void => {
    done = true;
    writeStdout(`${printFunctionIO(output)}\n`);
    // An open timer or connection must not delay the pipeline.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  };
  const fail = (error: unknown): void => {
    done = true;
    stop(error);
  };
  // The process ends early if nothing keeps it alive, or by process.exit(). Report that instead of writing nothing.
  process.on("exit", (code) => {
    if (done || io === undefined || code !== 0) return;
    const message = "the function ended before its handler did: it called process.exit, or awaits what never happens";
    finish({ ...io, results: [...(io.results ?? []), { severity: "Fatal", message }] });
  });
  const handle = (input: FunctionIO): void => {
    io = input;
    const output = checked(fn)(input);
    if (output instanceof Promise) output.then(finish).catch(fail);
    else finish(output);
  };
  try {
    const text = decodeText(readStdin(), resolveLimits(undefined), SOURCE);
    const input = fromJson(text);
    // Load the YAML reader only for YAML, which people and Crossplane 1.11 to 1.13 send. Our pipeline sends JSON.
    if (input !== undefined) handle(input);
    else
      import("../function-io/parse.ts").then(({ parseFunctionIO }) => handle(parseFunctionIO(text, READ))).catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** A default export may be any function of the author, since not every build checks types. */
function checked(fn: Servable): Servable {
  const check = (output: FunctionIO): FunctionIO => {
    if (isObject(output)) return output;
    const message = `the default export returned ${kindOf(output)}, not a FunctionIO; ${NOT_COMPOSED}`;
    throw new FunctionIOError("Invalid", [{ path: "", message }]);
  };
  return (io, run) => {
    let output: FunctionIO | Promise<FunctionIO>;
    try {
      output = fn(io, run);
    } catch (error) {
      process.stderr.write(`the default export threw an error; ${NOT_COMPOSED}\n`);
      throw error;
    }
    return output instanceof Promise ? output.then(check) : check(output);
  };
}

/** The FunctionIO of a JSON text; undefined if it is not JSON. */
function fromJson(text: string): FunctionIO | undefined {
  const value = readAsJson(text, resolveLimits(undefined), SOURCE);
  if (value === undefined) return undefined;
  return checkFunctionIO({ value, source: SOURCE, positionsOf: (paths) => positionsInJson(text, paths) }, READ);
}

/** Stdout is the protocol, so output of libraries goes to stderr. `console` looks the stream up at its first use. */
export function keepStdoutClean(): void {
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
}

function stop(thrown: unknown): void {
  const error = withoutOurFrames(thrown);
  const message = error instanceof Error ? (FOR_USERS.has(error.name) ? error.message : error.stack) : String(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

// By name, not by class: a bundle can contain the YAML reader in another file with its own class.
/** Errors whose message is enough: about input, and about flags. */
const FOR_USERS: ReadonlySet<string> = new Set(["DocumentError", "FunctionIOError", "ServeOptionsError"]);
