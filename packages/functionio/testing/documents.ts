// FunctionIOs that the parser refuses and accepts, without apiVersion and kind.

const entry = (fields: object): object => ({ desired: { resources: [{ name: "a", resource: {}, ...fields }] } });

/** FunctionIOs with one problem each, and the path of the problem. */
export const REFUSED: readonly (readonly [what: string, value: object, path: string])[] = [
  ["another apiVersion", { apiVersion: "v1" }, "apiVersion"],
  ["another kind", { kind: "ResourceList" }, "kind"],
  ["config that is a list", { config: [] }, "config"],
  ["context that is a list", { context: [] }, "context"],
  ["desired that is text", { desired: "x" }, "desired"],
  ["resources that are an object", { desired: { resources: {} } }, "desired.resources"],
  ["an entry that is text", { desired: { resources: ["x"] } }, "desired.resources[0]"],
  ["an entry without a name", entry({ name: null }), "desired.resources[0].name"],
  ["an empty name", entry({ name: "" }), "desired.resources[0].name"],
  [
    "two entries of one name",
    {
      observed: {
        resources: [
          { name: "a", resource: {} },
          { name: "a", resource: {} },
        ],
      },
    },
    "observed.resources[1].name",
  ],
  ["an entry without a resource", { desired: { resources: [{ name: "a" }] } }, "desired.resources[0].resource"],
  [
    "an observed resource that is null",
    { observed: { resources: [{ name: "a", resource: null }] } },
    "observed.resources[0].resource",
  ],
  ["a kind that is a number", entry({ resource: { kind: 1 } }), "desired.resources[0].resource.kind"],
  ["metadata that is a list", entry({ resource: { metadata: [] } }), "desired.resources[0].resource.metadata"],
  [
    "a label that is a boolean",
    entry({ resource: { metadata: { labels: { "a.b/c": true } } } }),
    "desired.resources[0].resource.metadata.labels[a.b/c]",
  ],
  [
    "a composite detail without a value",
    { desired: { composite: { connectionDetails: [{ name: "a" }] } } },
    "desired.composite.connectionDetails[0].value",
  ],
  [
    "a composite detail from a field path",
    { desired: { composite: { connectionDetails: [{ name: "a", value: "b", type: "FromFieldPath" }] } } },
    "desired.composite.connectionDetails[0].type",
  ],
  ["a detail from nothing", entry({ connectionDetails: [{ name: "a" }] }), "desired.resources[0].connectionDetails[0]"],
  [
    "a detail from two places",
    entry({ connectionDetails: [{ name: "a", value: "b", fromFieldPath: "c" }] }),
    "desired.resources[0].connectionDetails[0]",
  ],
  [
    "a detail of an unknown type",
    entry({ connectionDetails: [{ name: "a", type: "FromEnv", value: "b" }] }),
    "desired.resources[0].connectionDetails[0].type",
  ],
  [
    "a detail without its type's field",
    entry({ connectionDetails: [{ name: "a", type: "FromValue", fromFieldPath: "b" }] }),
    "desired.resources[0].connectionDetails[0].value",
  ],
  [
    "a field path detail without a name",
    entry({ connectionDetails: [{ fromFieldPath: "b" }] }),
    "desired.resources[0].connectionDetails[0].name",
  ],
  [
    "a readiness check without a type",
    entry({ readinessChecks: [{}] }),
    "desired.resources[0].readinessChecks[0].type",
  ],
  [
    "an unknown readiness check",
    entry({ readinessChecks: [{ type: "Never" }] }),
    "desired.resources[0].readinessChecks[0].type",
  ],
  [
    "NonEmpty without a field path",
    entry({ readinessChecks: [{ type: "NonEmpty" }] }),
    "desired.resources[0].readinessChecks[0].fieldPath",
  ],
  [
    "MatchInteger with a fraction",
    entry({ readinessChecks: [{ type: "MatchInteger", fieldPath: "a", matchInteger: 1.5 }] }),
    "desired.resources[0].readinessChecks[0].matchInteger",
  ],
  [
    "MatchCondition without a status",
    entry({ readinessChecks: [{ type: "MatchCondition", matchCondition: { type: "Ready" } }] }),
    "desired.resources[0].readinessChecks[0].matchCondition.status",
  ],
  ["a result that is text", { results: ["x"] }, "results[0]"],
  ["a message that is a number", { results: [{ severity: "Normal", message: 1 }] }, "results[0].message"],
];

/** FunctionIOs without a problem. */
export const ACCEPTED: readonly (readonly [what: string, value: object])[] = [
  ["a detail whose name is its secret key", entry({ connectionDetails: [{ fromConnectionSecretKey: "user" }] })],
  [
    "a detail with a field that its type does not use",
    entry({ connectionDetails: [{ name: "a", type: "FromValue", value: "b", fromFieldPath: "" }] }),
  ],
  [
    "every readiness check",
    entry({
      readinessChecks: [
        { type: "NonEmpty", fieldPath: "a" },
        { type: "MatchString", fieldPath: "a", matchString: "" },
        { type: "MatchInteger", fieldPath: "a", matchInteger: 0 },
        { type: "MatchTrue", fieldPath: "a" },
        { type: "MatchFalse", fieldPath: "a" },
        { type: "MatchCondition", matchCondition: { type: "Ready", status: "True" } },
        { type: "None" },
      ],
    }),
  ],
  ["an unknown severity", { results: [{ severity: "Info", message: "x" }] }],
];
