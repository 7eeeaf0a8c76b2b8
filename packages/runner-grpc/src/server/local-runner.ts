import { onAbort } from "@xfn/lifetime";
import { DEFAULT_TIMEOUT_MS, type FunctionRunner, type RunOptions } from "@xfn/runner-contract";
import { currentTrace } from "@xfn/runner-contract/trace-context";
import type { CallReport } from "../wire/call-trailers.ts";
import { DEFAULT_MARGIN_MS } from "../wire/limits.ts";
import { checkImage, checkInput, type RequestedRun } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import { Admission, type AdmissionCounts, type Ticket } from "./admission.ts";
import { Drain } from "./drain.ts";
import { admissionLimits, type RunnerServerOptions } from "./options.ts";
import { type CallContext, type CallEnd, performCall } from "./perform-call.ts";

/** The options of a runner without a listener. */
export type LocalRunnerOptions = Pick<
  RunnerServerOptions,
  "run" | "forward" | "maxConcurrent" | "maxQueued" | "onCall" | "onRefused"
>;

/** A runner for callers in its own process: with the admission, the limits and the errors of a server. */
export interface LocalRunner extends FunctionRunner {
  /** Calls a method of a function package. @param path `/package.Service/Method` */
  callFunction(image: string, path: string, message: Uint8Array, options?: RunOptions): Promise<Uint8Array>;
  /** Running and waiting calls. */
  counts(): AdmissionCounts;
  /** Rejects new calls, waits for running calls, and ends those still running after `graceMs` (`Closed`). */
  stop(graceMs: number): Promise<void>;
  /** Ends the grace period of `stop`, even if `stop` is called later. */
  endGrace(): void;
}

/** A function in the network of its caller could reach sockets that are only for that process. */
const NETWORK_REFUSAL = "it runs in the process of its caller";

/** Creates a runner for callers in this process. */
export function createLocalRunner(options: LocalRunnerOptions): LocalRunner {
  const { run, forward, onCall, onRefused } = options;
  const admission = new Admission(admissionLimits(options), () => drain.check());
  const drain = new Drain(admission);
  const context: CallContext = {
    run,
    forward,
    caller: { socket: "none", authentication: "none", address: "in-process" },
    networkRefusal: NETWORK_REFUSAL,
    memory: undefined,
    active: drain.active,
    onCall,
  };

  const admit = (inputBytes: number, deadline: number): Ticket => {
    let ticket: Ticket | undefined;
    try {
      ticket = admission.admit(undefined, deadline);
      ticket.input(inputBytes);
      return ticket;
    } catch (error) {
      ticket?.leave();
      if (error instanceof RunnerGrpcError) onRefused?.(error);
      throw error;
    }
  };

  const call = async (path: string, image: string, input: Uint8Array, called: RunOptions): Promise<Uint8Array> => {
    const { step, signal, onPhase, onStderr, ...asked } = called;
    const timeoutMs = deadlineOf(asked);
    const ticket = admit(input.length, Date.now() + timeoutMs);
    const aborter = new AbortController();
    const forget = onAbort(signal, () => aborter.abort(aborted(image, step)));
    const timer = setTimeout(() => aborter.abort(tooLate(image, step)), timeoutMs);
    try {
      const request = (): RequestedRun => {
        checkImage(image);
        checkInput(input.length, image, step);
        return { image, input, options: asked };
      };
      const ended = Promise.withResolvers<{ end: CallEnd; report: CallReport }>();
      const performed = { path, step, trace: currentTrace(), request };
      await performCall(performed, { ticket, aborter }, context, (end, report) => ended.resolve({ end, report }));
      const { end, report } = await ended.promise;
      for (const [phase, ms] of report.phases) onPhase?.(phase, ms);
      if (report.stderr !== "") onStderr?.(report.stderr);
      if ("error" in end) throw end.error;
      return end.output;
    } finally {
      clearTimeout(timer);
      forget();
      ticket.leave();
      drain.check();
    }
  };

  return {
    run: (image, input, called = {}) => call(RUN_FUNCTION.path, image, input, called),
    callFunction: (image, path, message, called = {}) => call(path, image, message, called),
    counts: () => admission.counts,
    async stop(graceMs) {
      drain.refuse();
      await drain.end(graceMs);
    },
    endGrace: () => drain.endGrace(),
  };
}

/** The time that a client of a server would wait, in milliseconds. */
function deadlineOf({ timeoutMs = DEFAULT_TIMEOUT_MS }: RunOptions): number {
  return timeoutMs + DEFAULT_MARGIN_MS;
}

function aborted(image: string, step: string | undefined): RunnerGrpcError {
  return new RunnerGrpcError("Aborted", `the call of ${image} was aborted`, { image, step });
}

function tooLate(image: string, step: string | undefined): RunnerGrpcError {
  const message = `${image}: the runner did not get to run it in time`;
  return new RunnerGrpcError("Timeout", message, { phase: "timeout", image, step });
}
