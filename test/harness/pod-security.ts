import type { JsonObject } from "@xfn/json";
import type { TestApiServer } from "./api-server.ts";

/** The levels of Pod Security, the strictest first. */
export const LEVELS = ["restricted", "baseline", "privileged"] as const;

export type Level = (typeof LEVELS)[number];

/** Asks the server whether a namespace of the level admits a pod. @returns why it does not, if it does not */
export async function refusalOf(server: TestApiServer, pod: JsonObject, level: Level): Promise<string | undefined> {
  const namespace = `pods-${level}`;
  const labels = { "pod-security.kubernetes.io/enforce": level };
  await server.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  // Service accounts of other namespaces do not exist there.
  const spec = { ...pod, serviceAccountName: "default" };
  const object = { apiVersion: "v1", kind: "Pod", metadata: { name: "x", namespace }, spec };
  const created = server.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(object) });
  return created.then(
    () => undefined,
    (error: unknown) => String(error),
  );
}
