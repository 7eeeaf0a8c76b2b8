import { isApiError, qualifiedKind, type ResourceKind } from "@xfn/kubernetes";
import type { Log } from "@xfn/program";
import { describeFailure } from "../engine/describe-failure.ts";

// Informers retry at least every 15 s, which is too often for the same line.
const REPEAT_MS = 10 * 60_000;
// More kinds than a cluster has. Forgetting them only repeats lines.
const MAX_LINES = 10_000;

/**
 * Logs failed lists and watches: each problem of a kind once in ten minutes, and repetitions at level debug. A kind
 * without a CRD is not a problem: the CRD was deleted, and the watch ends soon.
 *
 * @param now milliseconds since the epoch
 */
export function watchLog(
  log: Pick<Log, "warn" | "debug">,
  now: () => number,
): (error: unknown, kind: ResourceKind) => void {
  const logged = new Map<string, number>();
  return (error, kind) => {
    const fields = { kind: qualifiedKind(kind), ...describeFailure(error) };
    const line = `${fields.kind} ${fields.code ?? fields.error}`;
    const last = logged.get(line);
    const isNews = last === undefined || now() - last >= REPEAT_MS;
    if (!isNews || isApiError(error, "KindNotServed", "NotFound")) return log.debug(fields, "cannot watch");
    if (logged.size >= MAX_LINES) logged.clear();
    logged.set(line, now());
    log.warn(fields, "cannot watch");
  };
}
