import { type JsonObject, valueAt } from "@xfn/json";
import { SERVICE_ACCOUNT } from "../api/service-account.ts";
import { eachDuplicate, list, map, texts } from "../api-schema/list.ts";
import { ANY_OBJECT, named, type ObjectSchema, object } from "../api-schema/object.ts";
import {
  choice,
  custom,
  defaulted,
  expected,
  FLAG,
  INTEGER,
  matching,
  name,
  type RequiredField,
  type Rule,
  required,
  type Schema,
  text,
  textThat,
} from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { isObject } from "../values/json.ts";
import { checkAuthorSchema } from "./check-author-schema.ts";
import { claimConflicts } from "./crd.ts";
import {
  DEFINITION_API_VERSION,
  DEFINITION_API_VERSIONS,
  type DefinitionScope,
  type ScaleSubresource,
} from "./definition.ts";
import { injectedFields } from "./injected-fields.ts";
import { scopeOf, scopesOf } from "./scope.ts";
import type { WrittenColumn, WrittenNames, WrittenSpec, WrittenVersion } from "./written.ts";

const ANY_TEXT = text();

// A DNS label that begins with a letter (RFC 1035), as Kubernetes has it in the path of a resource.
const LABEL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
const GROUP = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

const LABEL_TEXT = matching(
  63,
  LABEL,
  "must be lower-case letters, digits and dashes, at most 63, beginning with a letter",
);

/** A kind is a label once it is in lower case. */
const KIND = textThat(name(63, { pattern: "^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$" }).openApi, (value) =>
  LABEL.test(value.toLowerCase())
    ? undefined
    : "must be letters, digits and dashes, at most 63, beginning with a letter",
);

/** The names of a kind. */
export const NAMES: ObjectSchema<WrittenNames> = object<WrittenNames>(
  {
    kind: required(KIND, "the kind, such as XDatabase"),
    plural: required(LABEL_TEXT, "the kind's plural in lower case, such as xdatabases"),
    singular: LABEL_TEXT,
    listKind: KIND,
    shortNames: texts(LABEL_TEXT),
    categories: texts(LABEL_TEXT),
  },
  {
    rules: [["!has(self.listKind) || self.listKind != self.kind", "listKind must differ from kind"]],
    check(names) {
      const kind = names.value("kind");
      if (typeof kind !== "string" || kind === "" || kind !== names.value("listKind")) return;
      names.error("Invalid", "listKind", "must differ from kind");
    },
  },
);

const COLUMN = object<WrittenColumn>({
  name: required(name(), "the column's title"),
  type: required(choice("integer", "number", "string", "boolean", "date")),
  format: ANY_TEXT,
  description: ANY_TEXT,
  priority: custom<number | bigint>({ type: "integer", format: "int32" }, INTEGER.check),
  jsonPath: required(matching(4096, /^\./, "must begin with a dot"), "where the value is, such as .spec.size"),
});

/** The fields that the subresource `scale` needs. An API server checks that the paths exist. */
const SCALE = object<ScaleSubresource & { labelSelectorPath?: string }>({
  specReplicasPath: required(matching(4096, /^\.spec\./, "must begin with .spec."), "a path, such as .spec.replicas"),
  statusReplicasPath: required(
    matching(4096, /^\.status\./, "must begin with .status."),
    "a path, such as .status.replicas",
  ),
  labelSelectorPath: text(4096),
});

const AUTHOR_SCHEMA = "the schema of the composite resource";

export const VERSION_NAME: RequiredField<string> = required(
  matching(63, LABEL, "must be lower-case letters, digits and dashes, beginning with a letter"),
  "the version, such as v1alpha1",
);

export const GROUP_NAME: RequiredField<string> = required(
  matching(253, GROUP, "must be a domain name of two or more lower-case parts, such as example.org"),
  "the API group of the new kind, such as example.org",
);

const VERSION = object<WrittenVersion>(
  {
    name: VERSION_NAME,
    served: required(FLAG, "true if the API server must serve this version"),
    referenceable: required(FLAG, "true if compositions are written for this version"),
    deprecated: FLAG,
    deprecationWarning: text(256),
    schema: required(
      object<{ openAPIV3Schema: JsonObject }>({ openAPIV3Schema: required(ANY_OBJECT, AUTHOR_SCHEMA) }),
      AUTHOR_SCHEMA,
    ),
    additionalPrinterColumns: list(COLUMN),
    subresources: object<NonNullable<WrittenVersion["subresources"]>>({ scale: SCALE }),
  },
  {
    rules: [
      ["!self.referenceable || self.served", "the referenceable version must be served"],
      [
        "!has(self.deprecationWarning) || (has(self.deprecated) && self.deprecated)",
        "deprecationWarning is for versions with deprecated: true",
      ],
    ],
    check(version) {
      if (version.value("deprecationWarning") === undefined || version.value("deprecated") === true) return;
      version.error("Invalid", "deprecationWarning", "is for versions with deprecated: true");
    },
  },
);

function versionsSchema(apiVersion: string): Schema<WrittenVersion[]> {
  return list(VERSION, {
    maxItems: 32,
    minItems: 1,
    rules: [
      ["self.exists_one(version, version.referenceable)", "exactly one version must be referenceable"],
      ["self.all(one, self.exists_one(other, other.name == one.name))", "names of versions are unique"],
    ],
    check: (versions, spec) => checkVersions(versions, spec, apiVersion),
  });
}

function checkVersions(versions: readonly FieldReader[], spec: FieldReader, apiVersion: string): void {
  eachDuplicate(versions, "name", (version, title) => {
    version.error("Duplicate", "name", `there is a version ${title} already`);
  });
  const referenceable = versions.filter((version) => version.value("referenceable") === true);
  if (versions.length > 0 && referenceable.length === 0) {
    spec.error("Invalid", "versions", "one of the versions must be referenceable");
  }
  for (const second of referenceable.slice(1)) {
    second.error("Invalid", "referenceable", "only one version can be; objects are stored in it");
  }
  const scope = scopeOf({ apiVersion, spec: spec.json });
  const injected = injectedFields(scope, isObject(spec.value("claimNames")));
  for (const version of versions) {
    const schema = valueAt(version.value("schema"), "openAPIV3Schema");
    if (isObject(schema))
      checkAuthorSchema(schema, [...version.at("schema"), "openAPIV3Schema"], injected, version.findings);
  }
}

interface Service {
  namespace: string;
  name: string;
  path?: string;
  port?: number | bigint;
}

const CLIENT_CONFIG = object<{ url?: string; service?: Service; caBundle?: string }>({
  url: ANY_TEXT,
  service: object<Service>({
    namespace: expected(name(63)),
    name: expected(name()),
    path: ANY_TEXT,
    port: INTEGER,
  }),
  caBundle: text(undefined, { format: "byte" }),
});

/** The CRD gets the webhook unchanged. Only an API server checks its fields. */
const WEBHOOK = custom<JsonObject>(
  {
    type: "object",
    required: ["conversionReviewVersions"],
    properties: { clientConfig: CLIENT_CONFIG.openApi, conversionReviewVersions: texts(ANY_TEXT).openApi },
  },
  ANY_OBJECT.check,
);

const CONVERSION = object<{ strategy: "None" | "Webhook"; webhook?: JsonObject }>(
  {
    strategy: required(choice("None", "Webhook"), "None or Webhook"),
    webhook: WEBHOOK,
  },
  {
    rules: [["self.strategy != 'Webhook' || has(self.webhook)", "webhook is missing: the webhook that converts"]],
    check(conversion) {
      if (conversion.value("strategy") !== "Webhook") return;
      conversion.required("webhook", conversion.value("webhook"), "the webhook that converts");
    },
  },
);

const RULES: readonly Rule[] = [
  ["self.group == oldSelf.group", "group cannot be changed: instances have it"],
  ["self.names.kind == oldSelf.names.kind", "names.kind cannot be changed: instances have it"],
  ["self.names.plural == oldSelf.names.plural", "names.plural cannot be changed: instances have it"],
  [
    "!has(self.scope) || !has(oldSelf.scope) || self.scope == oldSelf.scope",
    "scope cannot be changed: instances have its fields; delete the definition with its instances and create both " +
      "again, or define another kind and move the instances to it",
  ],
  [
    "!has(oldSelf.claimNames) || (has(self.claimNames) && self.claimNames.kind == oldSelf.claimNames.kind && " +
      "self.claimNames.plural == oldSelf.claimNames.plural)",
    "claimNames can be added, but not changed or removed",
  ],
  [
    "!has(self.claimNames) || (self.claimNames.kind != self.names.kind && self.claimNames.plural != self.names.plural)",
    "claimNames must differ from names",
  ],
  [
    "!has(self.claimNames) || !has(self.scope) || self.scope == 'LegacyCluster'",
    "claimNames need apiVersion apiextensions.crossplane.io/v1 with the scope LegacyCluster",
  ],
];

/** The spec of a definition in one API version. It checks files, and yields the schema of the CRD of definitions. */
function specSchema(apiVersion: string): ObjectSchema<WrittenSpec> {
  const scopes = scopesOf(apiVersion);
  return object<WrittenSpec>(
    {
      group: GROUP_NAME,
      names: required(NAMES, "the kind and its plural"),
      scope: defaulted(choice<DefinitionScope>(...scopes), scopes[0]),
      claimNames: NAMES,
      connectionSecretKeys: texts(name()),
      defaultCompositeDeletePolicy: defaulted(choice("Background", "Foreground"), "Background"),
      defaultCompositionUpdatePolicy: defaulted(choice("Automatic", "Manual"), "Automatic"),
      defaultCompositionRef: named("a Composition"),
      defaultCompositionRevisionSelector: object<{ matchLabels: Record<string, string> }>({
        matchLabels: required(map(ANY_TEXT), "labels of revisions"),
      }),
      enforcedCompositionRef: named("a Composition"),
      serviceAccountRef: SERVICE_ACCOUNT,
      versions: required(versionsSchema(apiVersion), "at least one version"),
      conversion: CONVERSION,
      metadata: object<NonNullable<WrittenSpec["metadata"]>>({ labels: map(ANY_TEXT), annotations: map(ANY_TEXT) }),
    },
    {
      rules: RULES,
      check(spec) {
        checkLegacyFields(spec, scopeOf({ apiVersion, spec: spec.json }));
        const [names, claimNames] = [spec.value("names"), spec.value("claimNames")];
        if (!isObject(names) || !isObject(claimNames)) return;
        for (const field of claimConflicts(names, claimNames)) {
          spec.findings.error("Invalid", [...spec.at("claimNames"), field], "is the same as in names; give another");
        }
      },
    },
  );
}

/** Only XRs in the layout of Crossplane 1 have claims and connection details. */
function checkLegacyFields(spec: FieldReader, scope: DefinitionScope): void {
  if (scope === "LegacyCluster") return;
  const legacy = `need apiVersion ${DEFINITION_API_VERSION} with the scope LegacyCluster`;
  if (spec.value("claimNames") !== undefined) spec.error("Invalid", "claimNames", legacy);
  const keys = spec.value("connectionSecretKeys");
  if (Array.isArray(keys) && keys.length > 0)
    spec.warning("Ignored", "connectionSecretKeys", `have no effect: connection secrets ${legacy}; compose a Secret`);
}

const SPECS: ReadonlyMap<string, ObjectSchema<WrittenSpec>> = new Map(
  DEFINITION_API_VERSIONS.map((apiVersion) => [apiVersion, specSchema(apiVersion)]),
);

/** The spec of a definition in an API version; an unknown version counts as the stored one. */
export function specOf(apiVersion: string): ObjectSchema<WrittenSpec> {
  return (SPECS.get(apiVersion) ?? SPECS.get(DEFINITION_API_VERSION)) as ObjectSchema<WrittenSpec>;
}
