import type { JsonObject } from "@xfn/functionio";
import {
  ANY_OBJECT,
  ANY_TEXT,
  CONDITIONS,
  choice,
  FLAG,
  INTEGER,
  list,
  NAMED,
  name,
  object,
  type Rule,
  TEXT_MAP,
  text,
} from "./schema-parts.ts";

// A CompositeResourceDefinition (packages/composition/src/definition/definition.ts).

const LABEL = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$";
const KIND = "^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$";

const NAMES = object(
  {
    kind: name(63, { pattern: KIND }),
    plural: name(63, { pattern: LABEL }),
    singular: name(63, { pattern: LABEL }),
    listKind: name(63, { pattern: KIND }),
    shortNames: list(name(63, { pattern: LABEL })),
    categories: list(name(63, { pattern: LABEL })),
  },
  ["kind", "plural"],
  [["!has(self.listKind) || self.listKind != self.kind", "listKind must differ from kind"]],
);

const COLUMN = object(
  {
    name: name(253),
    type: choice("integer", "number", "string", "boolean", "date"),
    format: ANY_TEXT,
    description: ANY_TEXT,
    priority: { type: "integer", format: "int32" },
    jsonPath: name(4096, { pattern: "^\\." }),
  },
  ["name", "type", "jsonPath"],
);

const VERSION = object(
  {
    name: name(63, { pattern: LABEL }),
    served: FLAG,
    referenceable: FLAG,
    deprecated: FLAG,
    deprecationWarning: text(256),
    schema: object({ openAPIV3Schema: ANY_OBJECT }, ["openAPIV3Schema"]),
    additionalPrinterColumns: list(COLUMN),
  },
  ["name", "served", "referenceable", "schema"],
  [
    ["!self.referenceable || self.served", "the referenceable version must be served"],
    [
      "!has(self.deprecationWarning) || (has(self.deprecated) && self.deprecated)",
      "deprecationWarning is for versions with deprecated: true",
    ],
  ],
);

const CONVERSION = object(
  {
    strategy: choice("None", "Webhook"),
    webhook: object(
      {
        clientConfig: object({
          url: ANY_TEXT,
          service: object({ namespace: name(63), name: name(253), path: ANY_TEXT, port: INTEGER }, [
            "name",
            "namespace",
          ]),
          caBundle: { type: "string", format: "byte" },
        }),
        conversionReviewVersions: list(ANY_TEXT),
      },
      ["conversionReviewVersions"],
    ),
  },
  ["strategy"],
  [["self.strategy != 'Webhook' || has(self.webhook)", "webhook is missing: the webhook that converts"]],
);

const SPEC_RULES: readonly Rule[] = [
  ["self.group == oldSelf.group", "group cannot be changed: instances have it"],
  ["self.names.kind == oldSelf.names.kind", "names.kind cannot be changed: instances have it"],
  ["self.names.plural == oldSelf.names.plural", "names.plural cannot be changed: instances have it"],
  [
    "!has(oldSelf.claimNames) || (has(self.claimNames) && self.claimNames.kind == oldSelf.claimNames.kind && " +
      "self.claimNames.plural == oldSelf.claimNames.plural)",
    "claimNames can be added, but not changed or removed",
  ],
  [
    "!has(self.claimNames) || (self.claimNames.kind != self.names.kind && self.claimNames.plural != self.names.plural)",
    "claimNames must differ from names",
  ],
];

const SPEC = object(
  {
    group: name(253, { pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$" }),
    names: NAMES,
    claimNames: NAMES,
    connectionSecretKeys: list(name(253)),
    defaultCompositeDeletePolicy: { ...choice("Background", "Foreground"), default: "Background" },
    defaultCompositionUpdatePolicy: { ...choice("Automatic", "Manual"), default: "Automatic" },
    defaultCompositionRef: NAMED,
    enforcedCompositionRef: NAMED,
    versions: list(
      VERSION,
      32,
      [
        ["self.exists_one(version, version.referenceable)", "exactly one version must be referenceable"],
        ["self.all(one, self.exists_one(other, other.name == one.name))", "names of versions are unique"],
      ],
      { minItems: 1 },
    ),
    conversion: CONVERSION,
    metadata: object({ labels: TEXT_MAP, annotations: TEXT_MAP }),
  },
  ["group", "names", "versions"],
  SPEC_RULES,
);

const KIND_REFERENCE = object({ apiVersion: ANY_TEXT, kind: ANY_TEXT }, ["apiVersion", "kind"]);

/** The schema of a CompositeResourceDefinition. */
export const DEFINITION_SCHEMA: JsonObject = object(
  {
    apiVersion: ANY_TEXT,
    kind: ANY_TEXT,
    metadata: { type: "object" },
    spec: SPEC,
    status: object({
      conditions: CONDITIONS,
      controllers: object({ compositeResourceType: KIND_REFERENCE, compositeResourceClaimType: KIND_REFERENCE }),
    }),
  },
  ["spec"],
  [
    [
      "self.metadata.name == self.spec.names.plural + '.' + self.spec.group",
      "metadata.name must be <names.plural>.<group>",
    ],
  ],
);
