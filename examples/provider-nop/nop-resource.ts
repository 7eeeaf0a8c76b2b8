import { type JsonObject, objectAt, objectsAt, textAt } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";

export const API_VERSION = "nop.crossplane.io/v1alpha1";

export const NOP_RESOURCE: ResourceKind = {
  group: "nop.crossplane.io",
  version: "v1alpha1",
  kind: "NopResource",
  plural: "nopresources",
  namespaced: false,
};

/** The parsed `spec.forProvider` and `spec.writeConnectionSecretToRef`, which the CRD's schema has validated. */
export interface NopSpec {
  readonly conditionAfter: readonly ConditionAfter[];
  readonly connectionDetails: ReadonlyMap<string, string>;
  readonly deleteAfterMs: number;
  readonly secret: { readonly name: string; readonly namespace: string } | undefined;
}

/** A condition that a resource gets at some time after its creation. */
export interface ConditionAfter {
  readonly afterMs: number;
  readonly type: string;
  readonly status: string;
  readonly reason: string | undefined;
}

export function readSpec(object: JsonObject): NopSpec {
  const spec = objectAt(object, "spec");
  const forProvider = objectAt(spec, "forProvider");
  const secret = objectAt(spec, "writeConnectionSecretToRef");
  const name = textAt(secret, "name");
  const namespace = textAt(secret, "namespace");
  return {
    conditionAfter: objectsAt(forProvider, "conditionAfter").map((one) => ({
      afterMs: milliseconds(textAt(one, "time") ?? "0s"),
      type: textAt(one, "conditionType") ?? "",
      status: textAt(one, "conditionStatus") ?? "Unknown",
      reason: textAt(one, "conditionReason"),
    })),
    connectionDetails: new Map(
      objectsAt(forProvider, "connectionDetails").map((one) => [textAt(one, "name") ?? "", textAt(one, "value") ?? ""]),
    ),
    deleteAfterMs: milliseconds(textAt(forProvider, "deleteAfter") ?? "0s"),
    secret: name === undefined || namespace === undefined ? undefined : { name, namespace },
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Converts a duration in Go's syntax, such as `1m30s`, to milliseconds. */
export function milliseconds(duration: string): number {
  let total = 0;
  for (const [, count, unit = ""] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(count) * (UNITS[unit] ?? 0);
  return total;
}
