import type { JsonObject } from "@xfn/json";
import pico from "picocolors";
import { expect, test } from "vitest";
import { printTree } from "./print-tree.ts";
import type { TreeNode } from "./tree.ts";

const TREE: TreeNode = {
  object: {
    kind: "XDatabase",
    metadata: { name: "orders" },
    status: {
      conditions: [
        { type: "Synced", status: "True" },
        { type: "Ready", status: "False", reason: "Creating" },
      ],
    },
  },
  children: [{ object: { kind: "Server", metadata: { name: "s" } }, error: "forbidden", children: [] }],
};

test("colours show what is true and what is not, and move no column", () => {
  const coloured = printTree(TREE, "default", pico.createColors(true));
  expect(coloured).toMatch(/\u001B\[32mTrue +\u001B\[39m\u001B\[31mFalse +\u001B\[39mCreating/);
  expect(coloured).toContain("\u001b[31mError: forbidden\u001b[39m");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
  const plain = coloured.replaceAll(/\u001B\[\d+m/g, "");
  expect(plain.replaceAll(/ +$/gm, "")).toBe(printTree(TREE, "default"));
});

test("documents have no colours", () => {
  for (const form of ["json", "yaml", "dot"] as const)
    expect(printTree(TREE, form, pico.createColors(true))).toBe(printTree(TREE, form));
});

test("a package has the conditions of packages", () => {
  const conditions = [
    { type: "Installed", status: "True" },
    { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message: "a dependency is missing" },
  ];
  const revision = { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" };
  const of = (kind: string, list: JsonObject[]): JsonObject => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind,
    metadata: { name: "p" },
    status: { conditions: list },
  });
  const tree = {
    object: of("Configuration", conditions),
    children: [{ object: of("ConfigurationRevision", [revision]), children: [] }],
  };
  expect(
    printTree(tree, "default")
      .split("\n")
      .map((line) => line.trimEnd().replaceAll(/ {2,}/g, " | ")),
  ).toEqual([
    "NAME | INSTALLED | HEALTHY | STATUS",
    "Configuration/p | True | False | UnhealthyPackageRevision: a dependency is missing",
    "└─ ConfigurationRevision/p | - | True | HealthyPackageRevision",
    "",
  ]);
});
