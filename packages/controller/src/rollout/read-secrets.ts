import type { KubernetesObject } from "@xfn/functionio";
import type { Client } from "@xfn/kubernetes";
import { isSecret } from "../objects/kinds.ts";
import { textsAt } from "../objects/read-objects.ts";

/** The values of a Secret, existing or desired; none for another object. */
export function valuesOfSecret(object: KubernetesObject): Buffer[] {
  if (!isSecret(object)) return [];
  const data = Object.values(textsAt(object, "data")).map((value) => Buffer.from(value, "base64"));
  return [...data, ...Object.values(textsAt(object, "stringData")).map((value) => Buffer.from(value))];
}

/**
 * A client that notes the values of all Secrets that a run reads with it: credentials of steps, connection details,
 * pull secrets and required Secrets. A function can copy each into a field, so what is published of the run contains none.
 */
export function notingSecrets(client: Client): { readonly client: Client; readonly values: readonly Buffer[] } {
  const values: Buffer[] = [];
  const note = (object: KubernetesObject): void => void values.push(...valuesOfSecret(object));
  const noting: Client = {
    ...client,
    async get(reference, options) {
      const object = await client.get(reference, options);
      note(object);
      return object;
    },
    async list(kind, options) {
      const list = await client.list(kind, options);
      for (const object of list.items) note(object);
      return list;
    },
  };
  return { client: noting, values };
}
