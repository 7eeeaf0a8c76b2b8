import { createLog } from "@xfn/program";
import { type CallOutcome, errorOfStatus, RunnerGrpcError } from "@xfn/runner-grpc";
import { expect, test } from "vitest";
import { CallLog } from "./call-log.ts";

const INTERNAL = 13;
const INVALID_ARGUMENT = 3;

/** The lines of calls that failed. */
function logged(...errors: RunnerGrpcError[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = new CallLog(createLog({ level: "info", format: "json" }, (text) => lines.push(JSON.parse(text))));
  for (const error of errors) log.ended({ ...OUTCOME, error }, undefined);
  log.close();
  return lines;
}

const OUTCOME: CallOutcome = {
  image: "fn",
  step: undefined,
  path: "/a.B/C",
  caller: { socket: "path", authentication: "none", address: "unix:/a" },
  error: undefined,
  queuedMs: 0,
  totalMs: 1,
  phases: new Map(),
  inputBytes: 1,
  outputBytes: 0,
  options: undefined,
  trace: {},
};

test("a function's message about its failure is not logged, and the failure does not count as the runner's", () => {
  const said = "function fn: the function returned INTERNAL: bad password hunter2";
  expect(logged(errorOfStatus(INTERNAL, said, "fn"))).toMatchObject([
    { level: "info", code: "Internal", error: "function fn: it returned the status INTERNAL" },
  ]);
});

test("calls that a function refuses are not counted as refused by the runner", () => {
  const refused = errorOfStatus(INVALID_ARGUMENT, "no", "fn");
  expect(logged(...Array.from({ length: 30 }, () => refused))).toHaveLength(30);
});

test("an error of the runner itself is a warning, with its cause", () => {
  const error = new RunnerGrpcError("Internal", "its log has the reason", { cause: new Error("EMFILE") });
  expect(logged(error)).toMatchObject([{ level: "warn", error: "its log has the reason (EMFILE)" }]);
});
