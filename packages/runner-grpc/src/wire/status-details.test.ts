import { expect, test } from "vitest";
import { ErrorInfo, Status } from "./error-details.ts";
import { RunnerGrpcError, statusOf } from "./runner-grpc-error.ts";
import { decodeStatusDetails, ERROR_DOMAIN, encodeStatusDetails } from "./status-details.ts";

const FULL = new RunnerGrpcError("PullFailed", "registry.example.org/x:1: the registry did not answer", {
  phase: "pull",
  image: "registry.example.org/x:1",
  step: "compose",
  stderr: "no route\n",
  exitCode: 7,
  retryable: true,
  retryAfterMs: 1_500,
  undelivered: true,
});

test("an error survives a round trip", () => {
  const decoded = decodeStatusDetails(encodeStatusDetails(FULL));
  expect(decoded).toEqual({
    code: "PullFailed",
    message: FULL.message,
    details: {
      phase: "pull",
      image: "registry.example.org/x:1",
      step: "compose",
      stderr: "no route\n",
      exitCode: 7,
      retryable: true,
      retryAfterMs: 1_500,
      undelivered: true,
    },
  });
});

test("uses the standard details, with an upper-case reason", () => {
  const status = Status.decode(encodeStatusDetails(FULL));
  expect(status).toMatchObject({ code: 14, message: FULL.message });
  expect(status.details.map(({ typeUrl }) => typeUrl.replace(/.*\./, ""))).toEqual([
    "ErrorInfo",
    "RetryInfo",
    "DebugInfo",
  ]);
  expect(ErrorInfo.decode(status.details[0]!.value)).toMatchObject({ reason: "PULL_FAILED", domain: ERROR_DOMAIN });
});

test("fits into trailers of 8 KiB, for any size of the error", () => {
  const long = "ü\n".repeat(100_000);
  const error = new RunnerGrpcError("NonZeroExit", long, {
    image: long,
    step: long,
    stderr: `${long}the end`,
    exitCode: 1,
  });
  const bytes = encodeStatusDetails(error);
  expect(bytes.toString("base64").length).toBeLessThan(5_500);
  expect(decodeStatusDetails(bytes)?.details.stderr).toMatch(/the end$/);
});

test("lone surrogates, keys such as __proto__ and unknown phases do no harm", () => {
  const decoded = decodeStatusDetails(
    encodeStatusDetails(new RunnerGrpcError("Killed", "\ud800", { stderr: "a\udfff" })),
  );
  expect(decoded).toMatchObject({ code: "Killed", message: "\ufffd", details: { stderr: "a\ufffd" } });
  const metadata = new Map([
    ["__proto__", "x"],
    ["phase", "constructor"],
    ["exitCode", "1e9"],
  ]);
  const value = ErrorInfo.encode({ reason: "KILLED", domain: ERROR_DOMAIN, metadata });
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value }];
  const forged = decodeStatusDetails(Status.encode({ code: 10, message: "", details }));
  expect(forged).toEqual({ code: "Killed", message: "", details: { retryable: false } });
  expect(Object.prototype).not.toHaveProperty("x");
});

test("ignores foreign and broken details", () => {
  const value = ErrorInfo.encode({ reason: "QUOTA", domain: "example.org", metadata: new Map() });
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value }];
  expect(decodeStatusDetails(Status.encode({ code: 8, message: "", details }))).toBeUndefined();
  expect(decodeStatusDetails(Buffer.from([0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f]))).toBeUndefined();
  expect(decodeStatusDetails(new Uint8Array(1_000_000))).toBeUndefined();
});

test.each([
  ["PullFailed", undefined, "UNAVAILABLE"],
  ["PullFailed", false, "FAILED_PRECONDITION"],
  ["Timeout", undefined, "DEADLINE_EXCEEDED"],
  ["LimitUnavailable", undefined, "FAILED_PRECONDITION"],
  ["OutputTooLarge", undefined, "RESOURCE_EXHAUSTED"],
  ["QueueFull", undefined, "RESOURCE_EXHAUSTED"],
  ["Unauthenticated", undefined, "UNAUTHENTICATED"],
  ["PermissionDenied", undefined, "PERMISSION_DENIED"],
  ["NonZeroExit", undefined, "UNKNOWN"],
  ["ENOENT", undefined, undefined],
] as const)("%s (retryable: %s) travels as %s", (code, retryable, status) => {
  expect(statusOf(code, retryable)).toBe(status);
});
