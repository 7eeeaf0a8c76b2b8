import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { controllerReferenceTo } from "../objects/owner.ts";
import { claimOf } from "./revision-owners.ts";

const revisionOf = (name: string, uid: string): LiveObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "ConfigurationRevision",
  metadata: { name, uid, resourceVersion: "1" },
  spec: { desiredState: "Active", revision: 1 },
});
const controlledBy = (owner: LiveObject): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "a", uid: "object", resourceVersion: "1", ownerReferences: [controllerReferenceTo(owner)] },
});

test("an object of a deleted revision belongs to the one that was created with its name", () => {
  const revision = revisionOf("app-1", "new");
  expect(claimOf(revision, [], controlledBy(revisionOf("app-1", "old")))).toEqual({
    may: true,
    ownerReferences: [controllerReferenceTo(revision)],
  });
});

test("an object of another package stays", () => {
  const claim = claimOf(revisionOf("app-1", "new"), [], controlledBy(revisionOf("other-1", "old")));
  expect(claim).toEqual({ may: false, by: "other", controller: "ConfigurationRevision other-1" });
});
