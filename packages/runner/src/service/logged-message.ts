import { bounded } from "@xfn/program";
import type { RunnerGrpcError } from "@xfn/runner-grpc";

/** The message of a failed call for logs and traces. Omits the function's text, which may contain its input. */
export function loggedMessage({ byFunction, image, status, message }: RunnerGrpcError): string {
  return bounded(byFunction ? `function ${image}: it returned the status ${status}` : message);
}
