import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The verb, the resource with its group, and the object of a request that the API server authorized. */
export interface AuditedRequest {
  readonly verb: string;
  /** Such as `secrets`, `deployments.apps` or `compositions.apiextensions.crossplane.io/status`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly isForbidden: boolean;
}

/** The requests of one user at an API server that was started with the arguments. */
export interface AuditLog {
  /** Arguments of kube-apiserver. */
  readonly arguments: readonly string[];
  requests(): AuditedRequest[];
}

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** @param folder for the policy and the log */
export function auditLog(folder: string, user: string): AuditLog {
  const [policy, log] = [join(folder, "audit-policy.yaml"), join(folder, "audit.log")];
  const rules = [{ level: "Metadata", users: [user], omitStages: ["RequestReceived"] }, { level: "None" }];
  writeFileSync(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  return {
    arguments: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    requests() {
      const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
      return lines.filter((line) => line !== "").flatMap((line) => requestsOf(JSON.parse(line) as AuditEvent));
    },
  };
}

function requestsOf({ verb, objectRef, responseStatus }: AuditEvent): AuditedRequest[] {
  if (objectRef === undefined) return [];
  const { resource: plural, apiGroup, subresource, namespace } = objectRef;
  const whole = apiGroup === undefined || apiGroup === "" ? plural : `${plural}.${apiGroup}`;
  const resource = subresource === undefined ? whole : `${whole}/${subresource}`;
  const request = { verb, resource, namespace, isForbidden: responseStatus?.code === 403 };
  // A server-side apply that creates its object needs the right to create it.
  return verb === "patch" && responseStatus?.code === 201 ? [request, { ...request, verb: "create" }] : [request];
}
