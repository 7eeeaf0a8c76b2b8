// Writes the values of fields that Kubernetes has a list of, such as the protocols of a port, into a table of
// packages/kubernetes. They come from the API server of the tests: the models of scripts/builtin-models.ts lack them.
import { get } from "node:https";
import { json } from "node:stream/consumers";
import { findBinaries, startApiServer } from "@xfn/dev-cluster";
import type { JsonObject } from "@xfn/json";
import { builtinModels } from "@xfn/kubernetes/builtin-kinds";
import { writeGenerated } from "./generated-file.ts";

interface Schema {
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const { binaries } = findBinaries();
if (binaries === undefined) throw new Error("the API server is not built: run scripts/api-server.ts");
const { models } = await builtinModels();
const table = new Map<string, readonly string[]>();

/** `io.k8s.api.core.v1.EndpointPort` -> `V1EndpointPort`, or `CoreV1EndpointPort` if several groups have it. */
function modelOf(name: string): string | undefined {
  const [group = "", version = "", kind = ""] = name.split(".").slice(-3);
  const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
  const plain = `${capital(version)}${kind}`;
  return [plain, `${capital(group)}${plain}`].find((model) => models.has(model));
}

const server = await startApiServer({ binaries });
try {
  const read = async (path: string): Promise<JsonObject> => {
    const headers = { authorization: `Bearer ${server.admin.token}` };
    const response = await new Promise<Parameters<typeof json>[0]>((resolve, reject) => {
      get(`${server.endpoint}${path}`, { ca: server.ca, headers }, resolve).on("error", reject);
    });
    return (await json(response)) as JsonObject;
  };
  const { paths } = (await read("/openapi/v3")) as { paths: Record<string, { serverRelativeURL: string }> };
  for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
    if (!/^apis?\/.*v\d/.test(path)) continue;
    const { components } = (await read(serverRelativeURL)) as { components?: { schemas?: Record<string, Schema> } };
    for (const [name, schema] of Object.entries(components?.schemas ?? {})) {
      const model = modelOf(name);
      for (const [field, property] of Object.entries(schema.properties ?? {})) {
        const values = property.enum ?? property.items?.enum;
        if (model !== undefined && values !== undefined) table.set(`${model}.${field}`, values.toSorted());
      }
    }
  }
} finally {
  await server.stop();
}

writeGenerated(
  "packages/kubernetes/src/builtin-kinds/generated/values.json",
  `${JSON.stringify(Object.fromEntries([...table].toSorted(([a], [b]) => (a < b ? -1 : 1))), undefined, 2)}\n`,
  "models:values",
);
