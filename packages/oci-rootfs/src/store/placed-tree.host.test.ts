import { lstatSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { PlacedTree } from "./placed-tree.ts";

const stats = lstatSync("/");

function directories(tree: PlacedTree): string[] {
  const paths: string[] = [];
  tree.visitDirectories((path) => paths.push(path));
  return paths;
}

test("directories are visited after their children, and not once they are removed", () => {
  const tree = new PlacedTree();
  for (const path of ["a/b", "a", "ab", "c/d", "c", ""]) tree.setDirectory(path, stats);
  expect(directories(tree)).toEqual(["a/b", "a", "ab", "c/d", "c", ""]);
  tree.remove("a");
  tree.remove("missing/path");
  expect(directories(tree)).toEqual(["ab", "c/d", "c", ""]);
});

test("a link has its last path that is left", () => {
  const tree = new PlacedTree();
  for (const path of ["x", "d/y", "d/e/z"]) tree.setLink(path, 7);
  expect(tree.pathOf(7)).toBe("d/e/z");
  tree.remove("d/e");
  expect(tree.pathOf(7)).toBe("d/y");
  tree.remove("d");
  expect(tree.pathOf(7)).toBe("x");
  tree.setLink("x", 8);
  expect([tree.pathOf(7), tree.pathOf(8), tree.pathOf(9)]).toEqual([undefined, "x", undefined]);
});

test("removing a directory looks at no other path", () => {
  const tree = new PlacedTree();
  for (let i = 0; i < 1000; i += 1) {
    tree.setDirectory(`d${i}/sub`, stats);
    tree.setLink(`d${i}/file`, i);
  }
  const compared = vi.spyOn(String.prototype, "startsWith");
  const listed = vi.spyOn(Map.prototype, "keys");
  for (let i = 0; i < 1000; i += 1) tree.remove(`d${i}`);
  expect([compared.mock.calls, listed.mock.calls]).toEqual([[], []]);
  vi.restoreAllMocks();
  expect(directories(tree)).toEqual([]);
});
