import type { StepMeta } from "@xfn/function-grpc/inspector";
import { inspectorServer } from "@xfn/function-grpc/inspector";
import { untilAborted } from "@xfn/lifetime";
import { ExitCode } from "@xfn/program/exit-code";
import { listenOnPath, RunnerSetupError } from "@xfn/runner-grpc";
import { CliError, usageError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { PendingCalls } from "./pending-calls.ts";
import { printCall, titleOfRun } from "./print-call.ts";
import { ProductLine } from "./product-line.ts";
import { printMessage, type ReceivedMessage, receivedRequest, receivedResponse } from "./received-message.ts";

/** Flags of `xfn inspect`. */
export interface InspectFlags {
  readonly socket: string;
  readonly namespace?: string;
  readonly composition?: string;
  readonly output: "text" | "json";
}

/** More than gRPC's default of 4 MiB: the operator of a controller can allow more. */
const MAX_MESSAGE_BYTES: number = 32 * 1024 * 1024;

/** Senders that never succeed must not fill the terminal. */
const MAX_NOTED = 20;

/**
 * `xfn inspect`: serves a pipeline inspector, and prints the calls that controllers report, until Ctrl-C.
 *
 * @param xr `KIND` or `KIND/NAME`
 * @throws CliError `Failed` if the socket cannot be made
 */
export async function runInspect(xr: string | undefined, flags: InspectFlags, output: Output): Promise<number> {
  const concerns = filterOf(xr, flags);
  return await endedByCtrlC(true, async (signal) => {
    const line = new ProductLine(output);
    const show = flags.output === "json" ? showJson(line) : showText(line);
    let noted = 0;
    const note = (message: string): void => {
      if (++noted <= MAX_NOTED) output.note(warning(message));
    };
    const receive = (message: ReceivedMessage): void => {
      if (concerns(message.meta)) show(message);
    };
    const server = inspectorServer(
      {
        onRequest: (message) => receive(receivedRequest(message, Date.now())),
        onResponse: (message) => receive(receivedResponse(message, Date.now())),
      },
      { maxMessageBytes: MAX_MESSAGE_BYTES, onError: (message) => note(`a connection failed: ${message}`) },
    );
    const file = await listenOnPath(flags.socket, async (target) => {
      await server.listen({ path: target.slice("unix:".length) });
    }).catch((error: unknown) => {
      if (!(error instanceof RunnerSetupError)) throw error;
      throw new CliError("Failed", `--socket: ${error.message}`, { cause: error });
    });
    try {
      output.note(`xfn: waiting for a controller on ${flags.socket}; Ctrl-C ends`);
      await untilAborted(line.failure, signal);
      return ExitCode.ok;
    } finally {
      await Promise.all([file.remove(), server.close(0)]);
    }
  });
}

/** Whether a message is about a chosen XR. Without a choice, messages about Operations are shown too. */
function filterOf(xr: string | undefined, { namespace, composition }: InspectFlags): (meta: StepMeta) => boolean {
  const [kind, name, ...more] = xr === undefined ? [] : xr.split("/");
  if (kind === "" || name === "" || more.length > 0)
    throw usageError(`${JSON.stringify(xr)} must be KIND or KIND/NAME`, ["Example: xfn inspect XDatabase/orders"]);
  const isSame = (wanted: string | undefined, actual: string | undefined): boolean =>
    wanted === undefined || wanted.toLowerCase() === actual?.toLowerCase();
  return ({ compositionMeta: of }) =>
    isSame(kind, of?.compositeResourceKind) &&
    isSame(name, of?.compositeResourceName) &&
    isSame(namespace, of?.compositeResourceNamespace) &&
    isSame(composition, of?.compositionName);
}

function showJson(line: ProductLine): (message: ReceivedMessage) => void {
  return (message) => line.print(`${printMessage(message)}\n`);
}

/** Prints each call with its response, and the title of a run before its first call. */
function showText(line: ProductLine): (message: ReceivedMessage) => void {
  const paint = colours(process.stdout);
  const pending = new PendingCalls();
  let run: string | undefined;
  return (message) => {
    if (message.type === "request") return pending.add(message);
    const { traceId, spanId } = message.meta;
    const title = run === traceId ? "" : `${run === undefined ? "" : "\n"}${titleOfRun(message.meta, paint)}\n`;
    run = traceId;
    line.print(`${title}${printCall(pending.take(spanId), message, paint)}\n`);
  };
}
