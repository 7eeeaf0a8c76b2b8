import type { PackageStep } from "@xfn/composition";
import type { ServeOptions } from "@xfn/runner-contract";
import { expect, test } from "vitest";
import { FunctionConnections } from "./function-connections.ts";

/** Starts no server, and records what was asked for. */
function recording() {
  const asked: [image: string, options: Pick<ServeOptions, "pullPolicy" | "fresh">][] = [];
  const serve = (image: string, { pullPolicy, fresh }: ServeOptions = {}): Promise<never> => {
    asked.push([image, { ...(pullPolicy && { pullPolicy }), ...(fresh !== undefined && { fresh }) }]);
    return Promise.reject(new Error("not started"));
  };
  return { asked, host: async () => await Promise.resolve({ serve }) };
}

const step = (image: string): PackageStep => ({
  name: image,
  type: "Package",
  functionRef: { package: image },
  credentials: [],
  requirements: { resources: [], schemas: [] },
});

test("no registry is asked for an image that this run has built, for any --pull", async () => {
  const { asked, host } = recording();
  const built = new Set(["folder/a:1"]);
  const { signal } = new AbortController();
  const connections = new FunctionConnections({ functions: [], built, host, pull: "Always", fresh: true, signal });
  for (const image of ["folder/a:1", "b:v1"])
    await expect(connections.connect(step(image))).rejects.toThrow("not started");
  connections.close();
  expect(asked).toEqual([
    ["folder/a:1", { pullPolicy: "Never", fresh: true }],
    ["b:v1", { pullPolicy: "Always", fresh: true }],
  ]);
});
