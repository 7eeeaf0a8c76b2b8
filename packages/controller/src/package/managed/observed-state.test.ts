import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { DEFINITION_CACHE, observationOf, stateOf, withObservation } from "./observed-state.ts";

const definition = (metadata: object): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceDefinition",
  metadata: { name: "a", uid: "a", resourceVersion: "1", generation: 2, ...metadata },
});

test("caches have the identity of a definition, its controller and what was observed", () => {
  const controller = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "r", uid: "r" };
  const annotations = withObservation("Inactive/2").annotations;
  const whole = definition({
    annotations: { ...annotations, other: "x" },
    managedFields: [{ manager: "m" }],
    ownerReferences: [
      { kind: "Provider", name: "p", uid: "p" },
      { ...controller, controller: true },
    ],
  });
  expect(DEFINITION_CACHE.project?.({ ...whole, spec: { versions: [] } })).toEqual(
    definition({ annotations, ownerReferences: [{ ...controller, controller: true }] }),
  );
});

test("a definition that was observed as inactive may be active once it has changed; an active one stays active", () => {
  const crd = definition({ uid: "crd" });
  const inactive = withObservation(observationOf(definition({}), undefined));
  const active = withObservation(observationOf(definition({}), crd));
  expect(stateOf(definition({}))).toBeUndefined();
  expect(stateOf(definition(inactive))).toBe("Inactive");
  expect(stateOf(definition({ ...inactive, generation: 3 }))).toBeUndefined();
  expect(stateOf(definition({ ...active, generation: 3 }))).toBe("Active");
});
