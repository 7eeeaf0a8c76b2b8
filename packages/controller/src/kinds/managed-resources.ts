import type { JsonObject } from "@xfn/json";
import { AGE, column, conditionColumn, defineKind, type Kind } from "./define-kind.ts";
import { namedBy } from "./definitions.ts";
import { anyFields, choice, flag, int32, list, record, type Texts, text, texts } from "./fields.ts";
import { status } from "./status.ts";
import type { View } from "./view.ts";

// The kinds of managed resources, and which of them are served (Crossplane 2:
// https://docs.crossplane.io/latest/managed-resources/managed-resource-definitions/).

/** The fields of ManagedResourceDefinitions that are read. */
interface ManagedResourceDefinition {
  readonly spec: View & Texts<"group" | "state"> & { readonly names: Texts<"kind" | "plural"> };
}

/** The fields of ManagedResourceActivationPolicies that are read. */
interface ActivationPolicy {
  readonly spec: { readonly activate: readonly string[] };
  readonly status: { readonly activated: readonly string[] };
}

const IMMUTABLE = { rule: "self == oldSelf", message: "must not change" };
/** The length of a DNS label, as which the API server checks these names. It bounds the cost of the rules. */
const NAME = { maxLength: 63 };

const lowerCase = (field: string): JsonObject => ({
  rule: `!has(self.${field}) || self.${field} == self.${field}.lowerAscii()`,
  message: `${field} must be lower case`,
});

const NAMES: JsonObject = { items: { type: "string", ...NAME }, maxItems: 32 };

const SUBRESOURCES = record("are the subresources of the version.", {
  status: anyFields("is present if the version has a status of its own."),
  scale: record("lets kubectl scale change the objects.", {
    "specReplicasPath!": text("is the path of the desired number of replicas."),
    "statusReplicasPath!": text("is the path of the present number of replicas."),
    labelSelectorPath: text("is the path of the label selector of the replicas."),
  }),
});

const COLUMNS = list("are the columns that kubectl get prints.", {
  "name!": text("is the title of the column."),
  "type!": text("is the type of its values, such as string."),
  "jsonPath!": text("is the path of its value."),
  format: text("is the format of its values."),
  description: text("describes the column."),
  priority: int32("is 0 for a column that is always printed."),
});

const CONVERSION = record("determines how objects are converted between versions.", {
  "strategy!": text("is None or Webhook."),
  webhook: record("is the webhook that converts objects.", {
    clientConfig: record("is where the API server reaches the webhook.", {
      url: text("is the address of the webhook."),
      caBundle: text("are the certificates that may have signed the webhook's, in PEM and base64."),
      service: record("names the Service of the webhook.", {
        "namespace!": text("is the namespace of the Service."),
        "name!": text("is the name of the Service."),
        path: text("is the path of requests."),
        port: int32("is the port of the Service."),
      }),
    }),
    "conversionReviewVersions!": texts("are the versions of ConversionReview that the webhook accepts."),
  }),
});

/** The fields of a CustomResourceDefinition. */
const CRD_FIELDS = {
  "group!": text("is the API group of the kind.", { maxLength: 253, "x-kubernetes-validations": [IMMUTABLE] }),
  "names!": record(
    "are the names of the kind.",
    {
      "kind!": text("is the name of the kind.", NAME),
      "plural!": text("is the name of the resource.", NAME),
      singular: text("is the name of one object.", NAME),
      listKind: text("is the kind of lists.", { maxLength: 67 }),
      shortNames: texts("are short names for kubectl.", NAMES),
      categories: texts("are groups of kinds that kubectl get accepts, such as managed.", NAMES),
    },
    { "x-kubernetes-validations": [IMMUTABLE, lowerCase("plural"), lowerCase("singular")] },
  ),
  "scope!": choice("determines whether objects belong to a namespace.", ["Namespaced", "Cluster"], {
    default: "Namespaced",
    "x-kubernetes-validations": [IMMUTABLE],
  }),
  "versions!": list("are the versions of the kind.", {
    "name!": text("is the name of the version."),
    "served!": flag("determines whether the API server serves the version."),
    "storage!": flag("determines whether objects are stored in the version."),
    deprecated: flag("determines whether requests for the version are answered with a warning."),
    deprecationWarning: text("is that warning."),
    schema: record("is the schema of the version.", {
      openAPIV3Schema: anyFields("is the structural schema, as in a CustomResourceDefinition."),
    }),
    subresources: SUBRESOURCES,
    additionalPrinterColumns: COLUMNS,
    selectableFields: list("are the fields that field selectors can name.", {
      "jsonPath!": text("is the path of the field."),
    }),
  }),
  conversion: CONVERSION,
  preserveUnknownFields: flag("must be false, as in a CustomResourceDefinition."),
};

const GROUP = "apiextensions.crossplane.io";

export const MANAGED_DEFINITIONS: Kind<ManagedResourceDefinition> = defineKind({
  group: GROUP,
  kind: "ManagedResourceDefinition",
  shortNames: ["mrd", "mrds"],
  versions: ["v1alpha1"],
  about: "A ManagedResourceDefinition is a kind of managed resource. The API server serves the kind once it is active.",
  fields: {
    "spec!": record("is the kind.", {
      ...CRD_FIELDS,
      connectionDetails: list("are the keys of the connection secrets of objects.", {
        "name!": text("is the key."),
        "description!": text("describes the value."),
      }),
      state: choice("determines whether the kind is served. Active is final.", ["Active", "Inactive"], {
        default: "Inactive",
        "x-kubernetes-validations": [
          { rule: "self == oldSelf || oldSelf != 'Active'", message: "state cannot change once it is Active" },
        ],
      }),
    }),
    status: status({}),
  },
  columns: [column("STATE", ".spec.state"), conditionColumn("ESTABLISHED", "Established"), AGE],
  more: namedBy("self.spec.names.plural + '.' + self.spec.group", "<names.plural>.<group>"),
});

/** An item without metacharacters, an escaped one, or a class such as `[a-c]`: https://pkg.go.dev/path/filepath#Match */
const ITEM = String.raw`[^\\\[]|\\.|\[\^?((\\.|[^\\\]-])(-(\\.|[^\\\]-]))?)+\]`;

const PATTERN: JsonObject = {
  type: "string",
  minLength: 1,
  maxLength: 512,
  "x-kubernetes-validations": [
    {
      rule: `self.matches(${JSON.stringify(`^(${ITEM})+$`)})`,
      message: "must be a pattern: [ begins a class that ] ends, and \\ precedes a character",
    },
  ],
};

export const ACTIVATION_POLICIES: Kind<ActivationPolicy> = defineKind({
  group: GROUP,
  kind: "ManagedResourceActivationPolicy",
  shortNames: ["mrap"],
  versions: ["v1alpha1"],
  about: "A ManagedResourceActivationPolicy activates the ManagedResourceDefinitions whose names match.",
  fields: {
    "spec!": record("has the names.", {
      "activate!": texts(
        "are names of ManagedResourceDefinitions, or patterns for them: * stands for any text, ? for one character, and " +
          "[a-c] for one of a class.",
        { minItems: 1, maxItems: 1000, items: PATTERN },
      ),
    }),
    status: status({ activated: texts("are the names of the ManagedResourceDefinitions that match.") }),
  },
});
