import type { JsonObject, KubernetesObject } from "@xfn/json";
import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { type Field, type Fields, flag, record, type Texts, text, textMap, type ValuesOf } from "./fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

// The kinds that protect objects from deletion (https://docs.crossplane.io/latest/managed-resources/usages/).

/** An object of a usage: the used one (`of`), or the one that uses it (`by`). */
export interface UsageResource extends Texts<"apiVersion" | "kind"> {
  readonly resourceRef: Texts<"name" | "namespace">;
  readonly resourceSelector: Texts<"namespace"> & {
    readonly matchLabels: Readonly<Record<string, string>>;
    readonly matchControllerRef: boolean | undefined;
  };
}

/** The fields of usages that are read. */
export interface Usage {
  readonly spec: Texts<"reason"> &
    View & { readonly of: UsageResource; readonly by: UsageResource; readonly replayDeletion: boolean | undefined };
}

/** The annotation of a usage for its column DETAILS. */
export const ANNOTATION_DETAILS = "crossplane.io/usage-details";

const REFERENCE_OR_SELECTOR = {
  rule: "has(self.resourceRef) || has(self.resourceSelector)",
  message: "either a resource reference or a resource selector should be set.",
};
const BY_OR_REASON = {
  rule: "has(self.by) || has(self.reason)",
  message: 'either "spec.by" or "spec.reason" must be specified.',
};
const NAMESPACE_NEEDS_BY = {
  rule:
    "has(self.by) || !((has(self.of.resourceRef) && has(self.of.resourceRef.__namespace__)) || " +
    "(has(self.of.resourceSelector) && has(self.of.resourceSelector.__namespace__)))",
  message: '"spec.by" must be specified for an object of another namespace.',
};

function resource(description: string, inOtherNamespace: boolean): Field<ValuesOf<Fields> & UsageResource> {
  const namespace = inOtherNamespace && {
    namespace: text("is the namespace of the object. Defaults to the namespace of the Usage."),
  };
  const fields: Fields = {
    apiVersion: text("is the API version of the object's kind. Usages apply to all versions of a kind."),
    kind: text("is the kind of the object."),
    resourceRef: record("names the object. The controller sets it if a selector chooses the object.", {
      "name!": text("is the name of the object."),
      ...namespace,
    }),
    resourceSelector: record("chooses the object. The choice is made once.", {
      matchLabels: textMap("are labels that the object must have."),
      matchControllerRef: flag("determines whether the object must have the controller of the usage."),
      ...namespace,
    }),
  };
  return record(description, fields, { "x-kubernetes-validations": [REFERENCE_OR_SELECTOR] }) as Field<
    ValuesOf<Fields> & UsageResource
  >;
}

function usageKind(
  identity: { group: string; kind: string; versions: readonly [string, ...string[]]; namespaced?: true },
  about: string,
): Kind<Usage> {
  const { namespaced = false } = identity;
  const rules: JsonObject[] = namespaced ? [BY_OR_REASON, NAMESPACE_NEEDS_BY] : [BY_OR_REASON];
  return defineKind({
    ...identity,
    about,
    fields: {
      "spec!": record(
        "is the object that is protected, and the cause.",
        {
          "of!": resource("is the object that is in use, and cannot be deleted.", namespaced),
          by: resource("is the object that uses it. The usage is deleted with it.", false),
          reason: text("is the cause of the protection, which the API server reports to who deletes the object."),
          replayDeletion: flag("determines whether an attempted deletion is repeated when the usage ends."),
        },
        { "x-kubernetes-validations": rules },
      ),
      status: status({}),
    },
    columns: [
      column("DETAILS", `.metadata.annotations.${ANNOTATION_DETAILS.replaceAll(".", "\\.")}`),
      conditionColumn("READY", "Ready"),
      AGE,
    ],
  });
}

export const USAGES: Kind<Usage> = usageKind(
  { group: "protection.crossplane.io", kind: "Usage", versions: ["v1beta1"], namespaced: true },
  "A Usage protects an object of a namespace from deletion while it is in use.",
);
export const CLUSTER_USAGES: Kind<Usage> = usageKind(
  { group: "protection.crossplane.io", kind: "ClusterUsage", versions: ["v1beta1"] },
  "A ClusterUsage protects a cluster-scoped object from deletion while it is in use.",
);
/** The form of Crossplane before 2.0. */
const LEGACY_USAGES: Kind<Usage> = usageKind(
  { group: "apiextensions.crossplane.io", kind: "Usage", versions: ["v1beta1", "v1alpha1"] },
  "A Usage protects a cluster-scoped object from deletion while it is in use. ClusterUsage replaces it.",
);

export const USAGE_KINDS: readonly Kind<Usage>[] = [USAGES, CLUSTER_USAGES, LEGACY_USAGES];

/** Whether an object is a usage of any kind. */
export function isUsage({ apiVersion = "", kind }: KubernetesObject): boolean {
  return USAGE_KINDS.some((one) => one.kind === kind && apiVersion.startsWith(`${one.group}/`));
}
