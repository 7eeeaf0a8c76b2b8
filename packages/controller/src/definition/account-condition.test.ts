import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { accountCondition } from "./account-condition.ts";

const object = (conditions: object[] = []): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xs.example.org", uid: "1", resourceVersion: "1" },
  status: { conditions: conditions as never },
});

const ACCOUNT = { namespace: "team", name: "composer" };

test("a definition says that its service account is missing, with the way out", () => {
  expect(accountCondition(object(), ACCOUNT, undefined)).toMatchObject({
    type: "ServiceAccountFound",
    status: "False",
    reason: "ServiceAccountNotFound",
    message: expect.stringMatching(/^the service account team\/composer does not exist.*create it/),
  });
  const refusal = new ApiError("Forbidden", "no");
  expect(accountCondition(object(), ACCOUNT, refusal)).toMatchObject({ status: "Unknown", reason: "Forbidden" });
  expect(accountCondition(object(), ACCOUNT, object())).toMatchObject({ status: "True" });
});

test("a definition without an account has no such condition, or one that no longer counts", () => {
  expect(accountCondition(object(), undefined, undefined)).toBeUndefined();
  const earlier = [{ type: "ServiceAccountFound", status: "False", reason: "ServiceAccountNotFound" }];
  expect(accountCondition(object(earlier), undefined, undefined)).toMatchObject({ status: "True" });
});
