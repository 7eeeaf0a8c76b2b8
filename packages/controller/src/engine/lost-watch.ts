import { type Informer, isApiError } from "@xfn/kubernetes";

// A working watch receives a bookmark within a minute. A watch that fails for longer, such as without the right, would
// keep outdated objects.
const LASTING_MS = 2 * 60_000;

/** Whether a watch, or the list before it, has failed for so long that the cache must not be used. */
export function isLost({ failingSince = Number.POSITIVE_INFINITY }: Pick<Informer, "failingSince">): boolean {
  return performance.now() - failingSince >= LASTING_MS;
}

/** Why the API server refuses a lost watch. Undefined while it does not answer: all watches of a process fail then. */
export function refusalOf(informer: Pick<Informer, "failingSince" | "problem">): string | undefined {
  const { problem } = informer;
  if (!isApiError(problem) || !isLost(informer)) return undefined;
  const { code, message } = problem;
  return code === "Unreachable" || code === "Busy" || code === "Timeout" || code === "Aborted" ? undefined : message;
}
