import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type JsonObject, objectAt } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { objectsOf } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { LEVELS, type Level, refusalOf } from "../harness/pod-security.ts";

// The rows of docs/get-started/install.md: an overlay, and the level of Pod Security that admits its pods.
const page = readFileSync(join(CHECKOUT, "docs/get-started/install.md"), "utf8");
const rows = [...page.matchAll(/^\| \[`(deploy\S*)`\]\(\S+\) \|.*\| `(\w+)` \|/gm)].map(
  ([, overlay = "", level]) => [overlay, level as Level] as const,
);

test("docs/get-started/install.md has a row for each overlay", () => {
  const files = globSync("deploy/{,*/}kustomization.yaml", { cwd: CHECKOUT });
  const overlays = files.filter((file) => readFileSync(join(CHECKOUT, file), "utf8").includes("kubectl apply"));
  expect(rows.map(([overlay]) => overlay).sort()).toEqual(overlays.map((file) => dirname(file)).sort());
});

describe("the pods of an overlay", needs("api-server"), () => {
  let server: TestApiServer;

  beforeAll(async () => {
    server = await startApiServer();
  });
  afterAll(() => server?.stop());

  test.each(rows)("%s needs the level %s, which its namespace has", async (overlay, least) => {
    const objects = objectsOf(await server.kubectl(["kustomize", join(CHECKOUT, overlay)]));
    const ofKind = (kind: string): JsonObject[] => objects.filter((object) => object["kind"] === kind);
    const pods = ofKind("Deployment").map((deployment) => objectAt(deployment, "spec", "template", "spec"));
    for (const level of LEVELS) {
      const refused = await Promise.all(pods.map((pod) => refusalOf(server, pod, level)));
      const violation = expect.stringContaining(`violates PodSecurity "${level}:latest"`);
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) expect(refused, level).toContainEqual(violation);
      else expect(refused, level).toEqual(pods.map(() => undefined));
    }
    const labels = objectAt(ofKind("Namespace")[0], "metadata", "labels");
    for (const mode of ["enforce", "warn", "audit"]) expect(labels[`pod-security.kubernetes.io/${mode}`]).toBe(least);
  });
});
