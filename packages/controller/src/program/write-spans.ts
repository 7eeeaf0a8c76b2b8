import type { RequestOutcome } from "@xfn/kubernetes";
import { recordWithin, type Tracing } from "@xfn/program/tracing";

const WRITES: ReadonlySet<string> = new Set(["apply", "create", "delete", "patch", "update"]);

/** Records a write of a reconcile as a span. Other requests have no span. */
export function recordWrite(tracing: Tracing, { what, verb, resource, status, milliseconds }: RequestOutcome): void {
  if (!WRITES.has(verb)) return;
  const attributes = { "xfn.write": what, "xfn.resource": resource, "http.response.status_code": status };
  const failure = status >= 200 && status < 300 ? undefined : String(status);
  recordWithin(tracing, verb, { kind: "client", attributes, milliseconds, failure });
}
