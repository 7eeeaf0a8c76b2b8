import { isApiError } from "../src/client/api-error.ts";
import type { ConnectedClient, LiveObject, ObjectReference, ResourceKind } from "../src/client/client.ts";
import { type ConnectOptions, connect } from "../src/client/connect.ts";
import { fakeApiServer, type Handler } from "./fake-api-server.ts";

export const CONFIG_MAP: ResourceKind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
export const REFERENCE: ObjectReference = { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "a" };

export function configMap(name = "a", more: object = {}): LiveObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" },
    ...more,
  } as LiveObject;
}

export async function withServer(
  handle: Handler,
  use: (client: ConnectedClient, server: Awaited<ReturnType<typeof fakeApiServer>>) => Promise<void>,
  options: Parameters<typeof fakeApiServer>[1] & { client?: Partial<ConnectOptions> } = {},
): Promise<void> {
  await using server = await fakeApiServer(handle, options);
  const client = await connect({ access: server.access, fieldManager: "test", ...options.client });
  try {
    await use(client, server);
  } finally {
    await client.close();
  }
}

export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "none";
  } catch (error) {
    return isApiError(error) ? error.code : String(error);
  }
}
