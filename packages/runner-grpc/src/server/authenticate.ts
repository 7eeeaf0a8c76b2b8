import type { Metadata } from "@grpc/grpc-js";
import type { TokenFile } from "../setup/token-file.ts";
import { DEADLINE_SLACK_MS } from "../wire/limits.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";

/** Abort reason of an answered call. */
export const ANSWERED = "the call is over";

/** Checks the token of a call, and returns it. @throws RunnerGrpcError `Unauthenticated` */
export function authenticate(metadata: Metadata, token: TokenFile): string {
  const [header, ...others] = metadata.get("authorization");
  const given = typeof header === "string" ? /^Bearer +(\S+)$/i.exec(header)?.[1] : undefined;
  if (given === undefined || others.length > 0) {
    throw new RunnerGrpcError(
      "Unauthenticated",
      'this runner requires a token: send the header "authorization: Bearer TOKEN"',
    );
  }
  if (!token.accepts(given)) throw new RunnerGrpcError("Unauthenticated", "the token is not valid for this runner");
  return given;
}

/** The error of a caller that sends no message and so must not keep its admission. */
export function messageMissing(ms: number): RunnerGrpcError {
  return new RunnerGrpcError("Timeout", `the request did not arrive within ${ms} ms of its headers`, {
    phase: "start",
  });
}

/** The error of a run whose caller has gone. */
export function gone(deadline: number): RunnerGrpcError {
  return deadline - DEADLINE_SLACK_MS <= Date.now()
    ? new RunnerGrpcError("Timeout", "the caller's deadline has passed", { phase: "timeout" })
    : new RunnerGrpcError("Aborted", "the caller cancelled the call, or its connection was lost");
}

/** The error of a call that was not admitted. */
export function refusalOf(thrown: unknown): RunnerGrpcError {
  if (thrown instanceof RunnerGrpcError) return thrown;
  // The token file is unreadable: reject all callers, but do not reveal its path.
  return new RunnerGrpcError("Unavailable", "this runner cannot check tokens at the moment", { cause: thrown });
}
