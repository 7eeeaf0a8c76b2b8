import type { ExplicitConnectionDetail } from "@xfn/functionio";
import { isObject, type KubernetesObject, textsAt, valueAt } from "@xfn/json";

/** `namespace/name` of the Secret for a resource's connection details (`spec.writeConnectionSecretToRef`). */
export function connectionSecretOf(resource: KubernetesObject): string | undefined {
  const reference = valueAt(resource, "spec", "writeConnectionSecretToRef");
  if (!isObject(reference)) return undefined;
  const { name, namespace = resource.metadata?.namespace ?? "" } = reference;
  return typeof name === "string" && typeof namespace === "string" ? `${namespace}/${name}` : undefined;
}

/** Whether an object is a Secret. */
export function isSecret(object: KubernetesObject): boolean {
  return object.apiVersion === "v1" && object.kind === "Secret";
}

/** `namespace/name` of an object. */
export function namespacedName({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/**
 * The keys and values of a Secret, sorted by key. `stringData`, as people write it, overrides `data`, as an API server
 * returns it. Values that are not text are omitted, because a FunctionIO cannot contain them.
 */
export function secretDetails(secret: KubernetesObject): ExplicitConnectionDetail[] {
  const details = new Map<string, string>();
  for (const [key, value] of Object.entries(textsAt(secret, "data"))) {
    const text = decoded(value);
    if (text !== undefined) details.set(key, text);
  }
  for (const [key, value] of Object.entries(textsAt(secret, "stringData"))) details.set(key, value);
  return [...details]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): ExplicitConnectionDetail => ({ name, value }));
}

function decoded(base64: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    return undefined;
  }
}
