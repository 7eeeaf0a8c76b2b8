import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { checkDefinition, parseDefinition } from "./parse-definition.ts";

const GOOD = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata:
  name: xthings.example.org
spec:
  group: example.org
  names:
    kind: XThing
    plural: xthings
  claimNames:
    kind: Thing
    plural: things
  connectionSecretKeys: [user, password]
  defaultCompositionRef: {name: small}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
`;

function check(text: string): string[] {
  const [document] = readDocuments(text, { source: "f.yaml" });
  if (document === undefined) throw new Error("no document");
  return checkDefinition(document).findings.map(
    ({ severity, path, line, column, message }) => `${severity} ${path} ${line}:${column} ${message}`,
  );
}

/** GOOD with one text replaced by another. */
const changed = (from: string, to: string): string => {
  expect(GOOD).toContain(from);
  return GOOD.replace(from, to);
};

test("a definition has the API's defaults", () => {
  const [document] = readDocuments(GOOD);
  if (document === undefined) throw new Error("no document");
  const warnings: unknown[] = [];
  expect(parseDefinition(document, { onWarning: (finding) => warnings.push(finding) })).toMatchObject({
    kind: "CompositeResourceDefinition",
    metadata: { name: "xthings.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "XThing", plural: "xthings", shortNames: [], categories: [] },
      claimNames: { kind: "Thing" },
      connectionSecretKeys: ["user", "password"],
      defaultCompositionRef: { name: "small" },
      defaultCompositeDeletePolicy: "Background",
      defaultCompositionUpdatePolicy: "Automatic",
      versions: [{ name: "v1", served: true, referenceable: true, deprecated: false, additionalPrinterColumns: [] }],
    },
  });
  expect(warnings).toEqual([]);
});

test("all errors are reported, in the order of the file", () => {
  const text = GOOD.replace("group: example.org", "group: Example")
    .replace("plural: things", "plural: xthings")
    .replace("served: true", "served: yes please")
    .replace("type: integer, default: 1", "type: integer, default: x");
  expect(check(text)).toEqual([
    expect.stringMatching(/^error metadata\.name 4:3 /),
    expect.stringMatching(/^error spec\.group 6:3 /),
    expect.stringMatching(/^error spec\.claimNames\.plural 12:5 /),
    expect.stringMatching(/^error spec\.versions\[0\]\.served 17:5 /),
    expect.stringMatching(
      /^error .*properties\.size\.default 26:37 is not valid for its own schema: must be of type integer$/,
    ),
  ]);
});

test.each([
  ["another name", ["name: xthings.example.org", "name: things"], /metadata\.name .*xthings\.example\.org/],
  ["a kind that is not a name", ["kind: XThing", "kind: X Thing"], /spec\.names\.kind/],
  [
    "a short name in capitals",
    ["plural: xthings", "plural: xthings\n    shortNames: [X]"],
    /spec\.names\.shortNames\[0\]/,
  ],
  ["a key twice", ["[user, password]", "[user, user]"], /spec\.connectionSecretKeys\[1\] .*already/],
  ["no referenceable version", ["referenceable: true", "referenceable: false"], /spec\.versions .*referenceable/],
  ["no versions", [GOOD.slice(GOOD.indexOf("  versions:")), "  versions: []\n"], /spec\.versions .*empty/],
  ["a reference without a name", ["{name: small}", "{}"], /defaultCompositionRef\.name/],
  ["an unknown policy", ["  versions:", "  defaultCompositeDeletePolicy: Now\n  versions:"], /Background, Foreground/],
  [
    "a webhook conversion without webhook",
    ["  versions:", "  conversion: {strategy: Webhook}\n  versions:"],
    /conversion\.webhook/,
  ],
  [
    "a warning for what is not deprecated",
    ["served: true", "served: true\n    deprecationWarning: x"],
    /deprecationWarning/,
  ],
  [
    "a column without path",
    ["served: true", "served: true\n    additionalPrinterColumns: [{name: A, type: string}]"],
    /jsonPath/,
  ],
  ["no schema", [GOOD.slice(GOOD.indexOf("    schema:")), ""], /versions\[0\]\.schema .*missing/],
  ["an unknown type", ["type: integer", "type: int"], /size\.type .*did you mean integer/],
  ["no type", ["{type: integer, default: 1}", "{}"], /size\.type .*is missing/],
  ["a list without items", ["{type: integer, default: 1}", "{type: array}"], /size\.items/],
  [
    "both properties and additionalProperties",
    [
      "{type: integer, default: 1}",
      "{type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}",
    ],
    /additionalProperties .*together/,
  ],
  ["a reference", ["{type: integer, default: 1}", "{$ref: x, type: string}"], /\$ref/],
  ["a pattern that is none", ["{type: integer, default: 1}", "{type: string, pattern: '(?=a)'}"], /pattern .*RE2/],
  [
    "a type in an alternative",
    ["{type: integer, default: 1}", "{type: object, anyOf: [{type: object}]}"],
    /anyOf\[0\]\.type/,
  ],
  [
    "an alternative with other properties",
    ["{type: integer, default: 1}", "{type: object, anyOf: [{properties: {a: {minLength: 1}}}]}"],
    /anyOf\[0\]\.properties\.a/,
  ],
  [
    "keys that are not properties",
    [
      "{type: integer, default: 1}",
      "{type: array, items: {type: object, properties: {b: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}",
    ],
    /list-map-keys\[0\]/,
  ],
  [
    "a default with an unknown field",
    ["{type: integer, default: 1}", "{type: object, default: {b: 1}, properties: {a: {type: string}}}"],
    /default\.b .*not a field/,
  ],
])("%s is an error", (_, [from = "", to = ""], message) => {
  expect(check(changed(from, to)).filter((line) => line.startsWith("error"))).toEqual([expect.stringMatching(message)]);
});

describe("parts that Crossplane drops or adds silently are warnings", () => {
  test.each([
    ["a misspelt field", ["group:", "grupo: a\n  group:"], /spec\.grupo .*did you mean group/],
    [
      "a misspelt keyword",
      ["{type: integer, default: 1}", "{type: integer, minimun: 1}"],
      /minimun .*did you mean minimum/,
    ],
    [
      "a status without a type",
      ["          spec:\n", "          status: {properties: {ip: {type: string}}}\n          spec:\n"],
      /properties\.status\.type .*object is assumed/,
    ],
    [
      "a type with x-kubernetes-int-or-string",
      ["size: {type: integer, default: 1}", "size: {type: integer, x-kubernetes-int-or-string: true, default: 10%}"],
      /size\.type .*no effect with x-kubernetes-int-or-string/,
    ],
    [
      "an invalid default of spec",
      ["            properties:", "            default: {size: large}\n            properties:"],
      /spec\.default .*left out/,
    ],
    [
      "other parts than spec and status",
      ["          spec:\n", "          data: {type: object}\n          spec:\n"],
      /properties\.data .*spec and status only/,
    ],
    [
      "rules for the whole resource",
      [
        "        type: object\n        properties:\n          spec",
        "        type: object\n        x-kubernetes-validations: [{rule: 'true'}]\n        properties:\n          spec",
      ],
      /x-kubernetes-validations has no effect|only spec and status/,
    ],
    [
      "a field that every composite resource has",
      ["size:", "compositionRef: {type: object}\n              size:"],
      /compositionRef .*already/,
    ],
    [
      "additionalProperties of spec",
      [
        "            type: object\n            properties",
        "            type: object\n            items: {type: string}\n            properties",
      ],
      /spec\.items .*no effect/,
    ],
  ])("%s", (_, [from = "", to = ""], message) => {
    expect(check(changed(from, to))).toEqual([expect.stringMatching(message)]);
    expect(check(changed(from, to))[0]).toMatch(/^warning/);
  });
});

test.each([
  ["another kind", "apiVersion: v1\nkind: ConfigMap\n", /expected CompositeResourceDefinition/],
  ["no object", "- 1\n", /found a list/],
  ["another version", "apiVersion: apiextensions.crossplane.io/v9\nkind: CompositeResourceDefinition\n", /apiVersion/],
])("%s is rejected", (_, text, message) => {
  const [document] = readDocuments(text, { source: "f.yaml" });
  if (document === undefined) throw new Error("no document");
  expect(() => parseDefinition(document)).toThrow(
    expect.objectContaining({ name: "DefinitionError", source: "f.yaml", message: expect.stringMatching(message) }),
  );
});

test("the error of a definition has its errors, and no warning", () => {
  const [document] = readDocuments(GOOD.replace("group:", "grop: x\n  group:").replace(/kind: X\w+/, "kind: 5"));
  if (document === undefined) throw new Error("no document");
  const { error, findings } = checkDefinition(document);
  expect(new Set(findings.map(({ severity }) => severity))).toEqual(new Set(["error", "warning"]));
  expect(error?.issues.map(({ severity }) => severity)).toEqual(
    findings.flatMap((one) => (one.severity === "error" ? ["error"] : [])),
  );
  expect(error?.message).not.toContain("grop");
});

describe("the scope", () => {
  const v2 = changed("apiextensions.crossplane.io/v1", "apiextensions.crossplane.io/v2").replace(
    /  claimNames:\n.*\n.*\n  connectionSecretKeys: .*\n/,
    "",
  );
  const scopeIn = (text: string): string => {
    const [document] = readDocuments(text);
    if (document === undefined) throw new Error("no document");
    return parseDefinition(document).spec.scope;
  };

  test("is LegacyCluster by default in v1, and Namespaced in v2", () => {
    expect(check(v2)).toEqual([]);
    expect([scopeIn(GOOD), scopeIn(v2)]).toEqual(["LegacyCluster", "Namespaced"]);
    expect(scopeIn(v2.replace("spec:\n", "spec:\n  scope: Cluster\n"))).toBe("Cluster");
  });

  test("without the layout of Crossplane 1 has no claims, and no connection secrets", () => {
    expect(check(changed("spec:\n", "spec:\n  scope: Namespaced\n"))).toEqual([
      expect.stringMatching(/^error spec.claimNames .*LegacyCluster/),
      expect.stringMatching(/^warning spec.connectionSecretKeys .*compose a Secret/),
    ]);
    expect(check(v2.replace("spec:\n", "spec:\n  scope: LegacyCluster\n"))).toEqual([
      expect.stringMatching(/^error spec.scope /),
    ]);
  });

  test("decides which fields an author cannot define", () => {
    const given = "size: {type: integer, default: 1}";
    const more = "resourceRefs: {type: string}\n              crossplane: {type: string}";
    expect(check(v2.replace(given, more))).toEqual([expect.stringContaining("spec.properties.crossplane")]);
    expect(check(GOOD.replace(given, more))).toEqual([expect.stringContaining("spec.properties.resourceRefs")]);
  });
});

describe("an InfrastructureDefinition", () => {
  const INFRASTRUCTURE = `apiVersion: apiextensions.crossplane.io/v1alpha1
kind: InfrastructureDefinition
metadata: {name: dbs.example.org}
spec:
  connectionDetails: [user]
  crdSpecTemplate:
    group: example.org
    version: v1alpha1
    names: {kind: Db, plural: dbs}
    validation:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: int}
`;
  const parse = (text: string, isPublished = false) => {
    const [document] = readDocuments(text);
    if (document === undefined) throw new Error("no document");
    return parseDefinition(document, { isPublished });
  };

  test("is lowered to the model, with int as integer", () => {
    expect(check(INFRASTRUCTURE)).toEqual([
      "warning spec.crdSpecTemplate.validation.openAPIV3Schema.properties.size.type 14:18 int is read as integer, which schemas of CRDs have",
    ]);
    const { kind, spec } = parse(INFRASTRUCTURE);
    expect(kind).toBe("InfrastructureDefinition");
    expect(spec).toMatchObject({ scope: "LegacyCluster", connectionSecretKeys: ["user"] });
    expect(spec.claimNames).toBeUndefined();
    expect(spec.versions[0]?.schema.openAPIV3Schema["properties"]).toEqual({
      spec: { type: "object", properties: { size: { type: "integer" } } },
    });
  });

  test("composes cluster-scoped kinds, unless it says otherwise", () => {
    expect(parse(INFRASTRUCTURE).spec.composedScope).toBe("Cluster");
    expect(parse(`${INFRASTRUCTURE}  composedScope: Any\n`).spec.composedScope).toBe("Any");
    expect(check(`${INFRASTRUCTURE}  composedScope: Namespaced\n`)).toContainEqual(
      expect.stringMatching(/^error spec\.composedScope /),
    );
    const application = parse(
      INFRASTRUCTURE.replace("Infrastructure", "Application").replace("connectionDetails: [user]", ""),
    );
    expect(application.spec.composedScope).toBeUndefined();
  });

  test("offers requirements if it is published", () => {
    expect(parse(INFRASTRUCTURE, true).spec.claimNames).toMatchObject({
      kind: "DbRequirement",
      plural: "dbrequirements",
    });
  });

  test("that defines a field of every composite resource, or has another name, is refused", () => {
    expect(check(INFRASTRUCTURE.replace("size: {type: int}", "resourceRef: {type: string}"))).toEqual([
      expect.stringContaining("properties.resourceRef 14:11 is a field that every composite resource has already"),
    ]);
    expect(check(INFRASTRUCTURE.replace("name: dbs.", "name: other."))).toContainEqual(
      expect.stringContaining("must be <plural>.<group>, here dbs.example.org"),
    );
  });
});
