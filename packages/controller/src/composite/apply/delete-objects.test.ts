import type { Client, LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { Actor } from "../../account/actor.ts";
import { emptyMemory } from "../state/composite-memory.ts";
import { PlanWriter } from "../state/plan-writer.ts";
import { ReconcileReader } from "../state/reconcile-reader.ts";
import { NO_CALLBACKS, Shown } from "../state/shown.ts";
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
    const applied = await (client as Client).apply(intent, options);
    memory.applies.record(intent, applied, options);
    expect(memory.applies.isApplied(intent, applied, options)).toBe(true);
    const actor = { client } as Actor;
    const shown = new Shown(NO_CALLBACKS);
    const { signal } = new AbortController();
    const actors = { own: actor, xr: actor, composition: actor };
    const deleting = {
      reader: new ReconcileReader(actor, { ...memory, shown, signal }),
      writer: new PlanWriter({ actors, shown, signal }, memory),
    };
    expect(await deleteObjects(deleting, object("XR", {}), [widget], "Background")).toMatchObject({
      deleting: 1,
      failures: [],
    });
    expect(memory.applies.isApplied(intent, applied, options)).toBe(false);
  },
);
