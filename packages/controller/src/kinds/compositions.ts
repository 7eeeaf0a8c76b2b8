import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import { describe } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import { COMPOSITION } from "./composition-descriptions.ts";
import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { described } from "./describe.ts";
import { choice, count, type Field, integer, list, record, type Texts, text, texts, time } from "./fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

/** The fields that the controller reads from Compositions. @xfn/composition parses them whole. */
interface CompositionSpec extends View {
  readonly compositeTypeRef: Texts<"apiVersion" | "kind">;
  /** The older name of `compositeTypeRef`. */
  readonly from: Texts<"apiVersion" | "kind">;
  readonly pipeline: readonly (View & { readonly functionRef: Texts<"name" | "package"> })[];
}

/** The phase of a rollout. All but `Shadow` and `Canary` are final. */
export type RolloutPhase =
  /** Some XRs are composed without effect. */
  | "Shadow"
  /** The canary uses the revision. */
  | "Canary"
  /** All XRs use the revision. */
  | "Complete"
  /** No XR uses the revision: it failed. */
  | "RolledBack"
  /** No XR uses the revision: a newer one exists. */
  | "Superseded";

/** The fields that the controller reads from CompositionRevisions. */
interface Revision {
  readonly spec: CompositionSpec & { readonly revision: number | undefined };
  readonly status: Texts<"unusedSince"> & {
    readonly functions: readonly Texts<"package" | "resolvedPackage" | "runtime">[];
    readonly rollout: View &
      Texts<"startedAt" | "canarySince"> & {
        readonly revision: number | undefined;
        readonly phase: RolloutPhase | undefined;
        readonly canaryBuckets: number | undefined;
      };
  };
}

const GROUP = "apiextensions.crossplane.io";
const DESCRIBED = describe(COMPOSITION_SPEC_OPEN_API, COMPOSITION);
const TYPE_COLUMNS = [
  column("XR-KIND", ".spec.compositeTypeRef.kind"),
  column("XR-APIVERSION", ".spec.compositeTypeRef.apiVersion"),
];
/** Whether the runtimes of functionRef.package are healthy; empty if there are none. */
const RUNTIMES = conditionColumn("RUNTIMES", "RuntimesHealthy");

const [STORED = "", ...OTHERS] = COMPOSITION_API_VERSIONS.map((one) => one.slice(one.indexOf("/") + 1));

export const COMPOSITIONS: Kind<{ readonly spec: CompositionSpec }> = defineKind({
  group: GROUP,
  kind: "Composition",
  shortNames: ["comp"],
  versions: [STORED, ...OTHERS],
  about: "A Composition turns one kind of composite resource into composed resources.",
  fields: {
    "spec!": described<CompositionSpec>(
      "is the kind of composite resource, and how it is composed.",
      COMPOSITION_SPEC_OPEN_API,
      COMPOSITION,
    ),
    status: status({}),
  },
  columns: [...TYPE_COLUMNS, conditionColumn("SYNCED", "Synced"), RUNTIMES, AGE],
});

/** The kind of composite resources of a Composition or a revision. */
export function compositeTypeOf(object: JsonObject): Texts<"apiVersion" | "kind"> {
  const { compositeTypeRef, from } = COMPOSITIONS.of(object).spec;
  return { apiVersion: compositeTypeRef.apiVersion ?? from.apiVersion, kind: compositeTypeRef.kind ?? from.kind };
}

/** Everything in a revision except its number is immutable. */
function revisionSpec(): Field<Revision["spec"]> {
  const number = integer("revision is the number of the revision. The newest has the highest number.", { minimum: 1 });
  return {
    openApi: {
      type: "object",
      description: "is the spec of the Composition, and the number of the revision.",
      required: ["revision"],
      properties: { ...DESCRIBED.properties, revision: number.openApi },
      "x-kubernetes-validations": Object.keys(DESCRIBED.properties).map((field) => ({
        rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
        message: `${field}: a revision cannot be changed; change its Composition, which makes another one`,
      })),
    },
  };
}

const ROLLOUT = record("is the progress and the result of the revision's rollout.", {
  "revision!": integer("is the number of the revision that is rolled out.", { minimum: 0 }),
  "phase!": choice("is the phase of the rollout.", ["Shadow", "Canary", "Complete", "RolledBack", "Superseded"]),
  message: text("is why the rollout is in its phase."),
  from: text("is the name of the earlier revision."),
  startedAt: time("is the time at which the rollout started."),
  canarySince: time("is the time at which the canary started."),
  canaryBuckets: count("is the share of the composite resources in the canary, in 1/10,000."),
  canaryUntil: time("is the time at which the canary ends."),
  canary: record("is the composite resources in the canary.", {
    composites: texts("are their names, with their namespaces."),
    omitted: integer("is the number of those that composites leaves out.", { minimum: 0 }),
  }),
  shadow: list("has the results of the shadow runs.", {
    "name!": text("is the name of the composite resource."),
    namespace: text("is the namespace of the composite resource."),
    error: text("is why the shadow run failed."),
    differences: list("are the changes that the revision would make.", {
      "resource!": text("is the entry of the composed resource."),
      "path!": text("is the path of the field."),
      applied: text("is the current value, as JSON."),
      desired: text("is the value of the revision, as JSON."),
    }),
    omitted: count("is the number of differences that are left out."),
  }),
});

export const REVISIONS: Kind<Revision> = defineKind({
  group: GROUP,
  kind: "CompositionRevision",
  shortNames: ["comprev"],
  versions: [STORED],
  about: "A CompositionRevision is one version of a Composition. The controller creates it.",
  fields: {
    "spec!": revisionSpec(),
    status: status({
      functions: list("are the packages of the steps, with their digests when the revision was created.", {
        "package!": text("is the image that the step names."),
        "resolvedPackage!": text("is the image with its digest."),
        "runtime!": text("is the name of the FunctionRuntime."),
      }),
      unusedSince: time("is since when no composite resource uses the revision."),
      rollout: ROLLOUT,
    }),
  },
  columns: [
    column("REVISION", ".spec.revision"),
    ...TYPE_COLUMNS,
    RUNTIMES,
    column("ROLLOUT", ".status.rollout.phase", { priority: 1 }),
    AGE,
  ],
});
