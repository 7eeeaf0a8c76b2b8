import { type Composition, type Layout, machineryOf, publishesDetails, specWith } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject, objectAt } from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { labelled } from "../steps/run-templates.ts";
import { conditionsOf, type SetCondition, setConditions } from "./complete-conditions.ts";

/** The UID that `crossplane render` gives an XR without one: UUID version 5 of its kind and name. */
function renderUid({ apiVersion, kind, metadata: { namespace = "", name } }: CompositeResource): string {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const text = `${group}/${version}, Kind=${kind}\0${namespace}\0${name}`;
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha1").update(Buffer.alloc(16)).update(text).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const RESPONSIVE: SetCondition = { type: "Responsive", status: "True", reason: "WatchCircuitClosed" };

/** The XR as Crossplane's controller has it when the first function runs. */
export function reconciled(
  composite: CompositeResource,
  composition: Composition,
  observed: readonly JsonValue[],
  layout: Layout,
): CompositeResource {
  const { metadata } = composite;
  const uid = metadata.uid || renderUid(composite);
  const machinery: JsonObject = { compositionRef: { name: composition.metadata.name ?? "" } };
  if (observed.length > 0)
    machinery["resourceRefs"] = observed.filter(isObject).map((one) => referenceTo(one, metadata.namespace));
  const secrets = composition.spec.writeConnectionSecretsToNamespace;
  if (
    publishesDetails(layout) &&
    secrets !== undefined &&
    !isObject(machineryOf(composite, layout)["writeConnectionSecretToRef"])
  ) {
    machinery["writeConnectionSecretToRef"] = { name: uid, namespace: secrets };
  }
  const status = objectAt(composite, "status");
  const conditions = setConditions(conditionsOf(status), [{ ...RESPONSIVE, ...generationOf(composite) }]);
  return {
    ...labelled({ ...composite, metadata: { ...metadata, uid, resourceVersion: "999" } }),
    spec: specWith(objectAt(composite, "spec"), machinery, layout),
    status: { ...status, conditions },
  };
}

/** The generation that Crossplane puts into conditions. */
export function generationOf({ metadata }: CompositeResource): Pick<SetCondition, "observedGeneration"> {
  const generation = metadata["generation"];
  return typeof generation === "number" && generation > 0 ? { observedGeneration: generation } : {};
}

/** A reference to a composed resource. A namespaced XR composes in its own namespace, so references do not name it. */
export function referenceTo({ apiVersion, kind, metadata }: KubernetesObject, compositeNamespace?: string): JsonObject {
  const { name = "", namespace } = metadata ?? {};
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    name,
    ...(namespace && !compositeNamespace && { namespace }),
  };
}
