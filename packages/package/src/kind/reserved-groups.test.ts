import { expect, test } from "vitest";
import { reservedGroupOwner } from "./reserved-groups.ts";

test.each([
  ["k8s.io", "Kubernetes"],
  ["admissionregistration.k8s.io", "Kubernetes"],
  ["a.b.kubernetes.io", "Kubernetes"],
  ["RBAC.authorization.K8S.io", "Kubernetes"],
  ["apiextensions.crossplane.io", "the controller"],
  ["pkg.crossplane.io", "the controller"],
  ["meta.pkg.crossplane.io", "the controller"],
  ["nop.crossplane.io", undefined],
  ["template.fn.crossplane.io", undefined],
  ["cluster.x-k8s.io", undefined],
  ["notk8s.io", undefined],
  ["k8s.io.example.org", undefined],
  ["example.org", undefined],
])("the group %s belongs to %s", (group, owner) => {
  expect(reservedGroupOwner(group)).toBe(owner);
});
