import type { Client, LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { emptyMemory } from "../state/composite-memory.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";
import { RunSecrets } from "../state/run-secrets.ts";
import { deleteObjects } from "./delete-objects.ts";

const object = (kind: string, metadata: object): LiveObject => ({
  apiVersion: "example.org/v1",
  kind,
  metadata: { name: "a", uid: `uid-${kind}`, resourceVersion: "1", ...metadata },
});

test.each(["at once", "after its finalizers"])(
  "a deletion that ends %s drops the record of the last apply",
  async (when) => {
    const ownerReferences = [{ apiVersion: "example.org/v1", kind: "XR", name: "a", uid: "uid-XR", controller: true }];
    const widget = object("Widget", { ownerReferences });
    const remaining = object("Widget", { deletionTimestamp: "2026-01-01T00:00:00Z" });
    const written = object("Widget", {
      managedFields: [
        { manager: "m", operation: "Apply", apiVersion: "example.org/v1", fieldsV1: { "f:spec": { "f:cpu": {} } } },
      ],
    });
    const client: Partial<Client> = {
      // The server stores the quantity in another form, so the intent must be recorded.
      apply: async () => ({ ...written, spec: { cpu: "1" } }),
      delete: async () => (when === "at once" ? undefined : remaining),
    };
    const memory = emptyMemory("uid-XR", () => 0);
    const intent = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "a" }, spec: { cpu: "1000m" } };
    const options = { fieldManager: "m" };
    const { object: applied } = await memory.applies.apply(client as Client, intent, undefined, options);
    expect(memory.applies.isApplied(intent, applied, options)).toBe(true);
    const progress = { hasWritten: false, slowedMs: undefined };
    const context = {
      actors: { composition: { client } },
      memory,
      progress,
      xr: object("XR", {}),
      emitted: new Set(),
      secrets: new RunSecrets(),
    } as unknown as ReconcileContext;
    expect(await deleteObjects(context, [widget], "Background")).toMatchObject({ deleting: 1, failures: [] });
    expect(memory.applies.isApplied(intent, applied, options)).toBe(false);
  },
);
