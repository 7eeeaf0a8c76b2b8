// Writes the generated files of deploy/ from the controller and from the manifests there: npm run deploy. With --check,
// it reports the files that are not current, and changes nothing.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { templatesOf } from "./deploy/templates.ts";
import { type Defaults, schemaOf, valuesOf, valuesYaml } from "./deploy/values.ts";
import { CHECKOUT, writeGenerated } from "./generated-file.ts";
import { PROGRAMS } from "./reference/help.ts";
import { EXAMPLES } from "./release/settings.ts";

const DEPLOY = join(CHECKOUT, "deploy");
const { repository: REPOSITORY, registry: REGISTRY } = EXAMPLES;

const read = (path: string): string => readFileSync(join(DEPLOY, path), "utf8");

/** The CRDs of some flags, as the controller prints them. */
function crds(...flags: readonly string[]): string {
  const options = { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  return execFileSync(process.execPath, [join(CHECKOUT, PROGRAMS["xfn-controller"]), "crds", ...flags], options);
}

/** Values of the Deployment that are values of the chart too. */
function defaults(): Defaults {
  const [document] = readDocuments(read("base/deployment.yaml"));
  const deployment = document?.value;
  const pod = objectAt(deployment, "spec", "template", "spec");
  const resourcesOf = (list: string): JsonObject => objectAt(listAt(pod, list)[0], "resources");
  return {
    replicas: Number(objectAt(deployment, "spec")["replicas"]),
    controllerResources: resourcesOf("containers"),
    runnerResources: resourcesOf("initContainers"),
    spread: [...listAt(pod, "topologySpreadConstraints")],
  };
}

function chartYaml(): string {
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, "packages/cli/package.json"), "utf8")) as {
    version: string;
  };
  return `apiVersion: v2
name: xfn
description: Composition functions for Kubernetes, with and without Crossplane's packages
type: application
version: ${version}
appVersion: v${version}
kubeVersion: ">=1.30.0-0"
home: ${REPOSITORY}
sources:
  - ${REPOSITORY}
keywords: [kubernetes, crossplane, composition, functions]
annotations:
${artifactHub(version)}`;
}

/** Annotations for Artifact Hub: https://artifacthub.io/docs/topics/annotations/helm/ */
function artifactHub(version: string): string {
  const kinds = readDocuments(crds("--enable-packages", "--enable-function-runtimes")).map(({ value }) => {
    const spec = objectAt(value, "spec");
    const stored = listAt(spec, "versions").find((one) => isObject(one) && one["storage"] === true);
    const kind = textAt(spec, "names", "kind") ?? "";
    const description = textAt(stored, "schema", "openAPIV3Schema", "description") ?? kind;
    const name = textAt(value, "metadata", "name") ?? "";
    return { kind, version: textAt(stored, "name") ?? "", name, displayName: kind, description };
  });
  const lists = {
    crds: kinds,
    images: [{ name: "xfn", image: `${REGISTRY}/xfn:v${version}`, platforms: ["linux/amd64", "linux/arm64"] }],
    links: [
      { name: "Installation", url: `${REPOSITORY}/blob/main/docs/get-started/install.md` },
      { name: "Changelog", url: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    ],
  };
  const lines = [
    "  artifacthub.io/category: integration-delivery",
    "  artifacthub.io/license: Apache-2.0",
    '  artifacthub.io/operator: "true"',
    '  artifacthub.io/prerelease: "false"',
  ];
  for (const [name, items] of Object.entries(lists))
    lines.push(`  artifacthub.io/${name}: |`, ...items.map((item) => `    - ${JSON.stringify(item)}`));
  return `${lines.join("\n")}\n`;
}

function files(): ReadonlyMap<string, string> {
  const note = "# Written by `npm run deploy`.\n";
  const values = valuesOf(defaults());
  const core = crds();
  // Options add CRDs after those of the core, and change none.
  const packages = crds("--enable-packages", "--enable-function-runtimes").slice(core.length);
  return new Map([
    ["chart/Chart.yaml", note + chartYaml()],
    [
      "chart/values.yaml",
      `# The values of the chart, with their defaults. Written by \`npm run deploy\` from scripts/deploy/values.ts.\n\n${valuesYaml(values)}`,
    ],
    ["chart/values.schema.json", `${JSON.stringify(schemaOf(values), null, 2)}\n`],
    ["chart/dashboard.json", read("monitoring/dashboard.json")],
    ["chart/crds/core.yaml", core],
    ["chart/crds/packages.yaml", packages],
    ...Object.entries(templatesOf(read)).map(
      ([name, text]) =>
        [
          `chart/templates/${name}`,
          `{{- /* Written by \`npm run deploy\` from the manifests beside the chart. */}}\n${text}`,
        ] as const,
    ),
  ]);
}

for (const [path, text] of files()) writeGenerated(`deploy/${path}`, text, "deploy");
