import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { get, named, type World, world, xr } from "../harness/composite-memory.ts";

// EnvironmentConfigs that are larger than one run may read.

const LIMIT = 8 * 1024 * 1024;
const config = (name: string): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1beta1",
  kind: "EnvironmentConfig",
  metadata: { name, uid: name, resourceVersion: "1", labels: { stage: name } },
  data: { zone: name },
});

/**
 * A world in which each EnvironmentConfig has a size, and no cache has space for them.
 *
 * @param sizes - in bytes, by name
 */
function largeWorld(sizes: Readonly<Record<string, number>>): World {
  const w = world([xr(), ...Object.keys(sizes).map(config)]);
  const { list } = w.client;
  w.client.list = async (kind, options = {}) => {
    const all = await list(kind, options);
    if (kind.kind !== "EnvironmentConfig") return all;
    const { fieldSelector = "", maxBytes = 0 } = options;
    const items = all.items.filter(({ metadata }) => ["", `metadata.name=${metadata.name}`].includes(fieldSelector));
    const bytes = items.reduce((sum, { metadata }) => sum + (sizes[metadata.name] ?? 0), 0);
    // As the client does: the items of an answer that is too large are incomplete.
    return { ...all, items: bytes > maxBytes ? [] : items, bytes };
  };
  return w;
}

function compose(w: World, ...environmentConfigs: JsonObject[]): void {
  const patch = { type: "FromEnvironmentFieldPath", fromFieldPath: "zone", toFieldPath: "spec.zone" };
  const template = named("w", "w");
  w.composeSpec({
    environment: { environmentConfigs },
    resources: [{ ...template, patches: [...(template["patches"] as JsonObject[]), patch] }],
  });
}
const byName = (name: string): JsonObject => ({ type: "Reference", ref: { name } });

test("a Composition that names an EnvironmentConfig composes, even if others are large", async () => {
  const w = largeWorld({ small: 100, large: LIMIT });
  compose(w, byName("small"));
  await w.reconcile();
  expect(get(w.client, "Widget", "w")?.["spec"]).toMatchObject({ zone: "small" });
});

test("the named ones have a limit together, and so have all if a selector selects among them", async () => {
  const w = largeWorld({ a: LIMIT / 2, b: LIMIT / 2 + 1 });
  for (const environmentConfigs of [
    [byName("a"), byName("b")],
    [byName("a"), { type: "Selector", selector: { matchLabels: [{ type: "Value", key: "stage", value: "b" }] } }],
  ]) {
    compose(w, ...environmentConfigs);
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "TooManyRequired" }));
  }
});
