import type { Definition } from "@xfn/composition/definition";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { accountCondition } from "./account-condition.ts";

const object = (conditions: object[] = []): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xs.example.org", uid: "1", resourceVersion: "1" },
  status: { conditions: conditions as never },
});

async function condition(get: Client["get"], named = true, conditions: object[] = []): Promise<unknown> {
  const spec = named ? { serviceAccountRef: { namespace: "team", name: "composer" } } : {};
  const client = { get } as Client;
  return await accountCondition({ client }, object(conditions), { spec } as Definition, new AbortController().signal);
}

const fails =
  (code: "NotFound" | "Forbidden"): Client["get"] =>
  async () => {
    throw new ApiError(code, "no");
  };

test("a definition says that its service account is missing, with the way out", async () => {
  expect(await condition(fails("NotFound"))).toMatchObject({
    type: "ServiceAccountFound",
    status: "False",
    reason: "ServiceAccountNotFound",
    message: expect.stringMatching(/^the service account team\/composer does not exist.*create it/),
  });
  expect(await condition(fails("Forbidden"))).toMatchObject({ status: "Unknown", reason: "Forbidden" });
  expect(await condition(async () => object())).toMatchObject({ status: "True" });
});

test("a definition without an account has no such condition, or one that no longer counts", async () => {
  expect(await condition(fails("NotFound"), false)).toBeUndefined();
  const earlier = [{ type: "ServiceAccountFound", status: "False", reason: "ServiceAccountNotFound" }];
  expect(await condition(fails("NotFound"), false, earlier)).toMatchObject({ status: "True" });
});
