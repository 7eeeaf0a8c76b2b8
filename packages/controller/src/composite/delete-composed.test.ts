import type { Client, LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { emptyMemory } from "./composite-memory.ts";
import { deleteComposed } from "./delete-composed.ts";
import type { Work } from "./reconcile-context.ts";

const object = (kind: string, metadata: object): LiveObject => ({
  apiVersion: "example.org/v1",
  kind,
  metadata: { name: "a", uid: `uid-${kind}`, resourceVersion: "1", ...metadata },
});

test.each(["at once", "when a finalizer is taken off"])(
  "what goes %s is forgotten when it is deleted",
  async (when) => {
    const ownerReferences = [{ apiVersion: "example.org/v1", kind: "XR", name: "a", uid: "uid-XR", controller: true }];
    const widget = object("Widget", { ownerReferences });
    const left = object("Widget", { deletionTimestamp: "2026-01-01T00:00:00Z" });
    const written = object("Widget", {
      managedFields: [
        { manager: "m", operation: "Apply", apiVersion: "example.org/v1", fieldsV1: { "f:spec": { "f:cpu": {} } } },
      ],
    });
    const client: Partial<Client> = {
      // A server that writes a quantity in a form of its own: what was sent has to be remembered.
      apply: async () => ({ ...written, spec: { cpu: "1" } }),
      delete: async () => (when === "at once" ? undefined : left),
    };
    const memory = emptyMemory("uid-XR", () => 0);
    const intent = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "a" }, spec: { cpu: "1000m" } };
    const options = { fieldManager: "m" };
    const { object: applied } = await memory.applied.apply(client as Client, intent, undefined, options);
    expect(memory.applied.isApplied(intent, applied, options)).toBe(true);
    const work = { context: { client }, memory, xr: object("XR", {}), said: new Set() } as unknown as Work;
    expect(await deleteComposed(work, widget)).toBe("going");
    expect(memory.applied.isApplied(intent, applied, options)).toBe(false);
  },
);
