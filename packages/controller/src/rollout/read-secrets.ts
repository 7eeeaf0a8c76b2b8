import type { Client, LiveObject } from "@xfn/kubernetes";
import { isSecret } from "../objects/kinds.ts";
import { textsAt } from "../objects/read-objects.ts";

/**
 * A client that notes the values of all Secrets that a run reads: credentials of steps, connection details, pull
 * secrets and required Secrets. A function can copy each into a field, so what is published of the run contains none.
 */
export function notingSecrets(client: Client): { readonly client: Client; readonly values: readonly Buffer[] } {
  const values: Buffer[] = [];
  const note = (object: LiveObject): void => {
    if (!isSecret(object)) return;
    for (const value of Object.values(textsAt(object, "data"))) values.push(Buffer.from(value, "base64"));
  };
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
