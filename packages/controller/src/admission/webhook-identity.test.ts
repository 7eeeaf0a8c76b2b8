import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { createAuthority } from "../runtime/certificates.ts";
import { identityIn, renewedIdentity } from "./webhook-identity.ts";

const now = Date.UTC(2026, 0, 1);
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const names = ["hook.system.svc"] as const;

test("the certificate is kept until a third of its lifetime, and renewed without a new path", async () => {
  const authority = await createAuthority(now);
  const at = (time: number) => ({ authority, names, namespace: "system", now: time });
  const first = (await renewedIdentity(undefined, at(now))) as LiveObject;
  const identity = identityIn(first);
  expect(identity?.path).toMatch(/^\/validate-no-usages\/[0-9a-f]{32}$/);
  expect(await renewedIdentity(first, at(now + 0.6 * YEAR_MS))).toBeUndefined();
  const second = (await renewedIdentity(first, at(now + 0.7 * YEAR_MS))) as LiveObject;
  expect(identityIn(second)?.cert).not.toBe(identity?.cert);
  expect(identityIn(second)?.path).toBe(identity?.path);
});

test("another authority or another name needs another certificate", async () => {
  const authority = await createAuthority(now);
  const at = { authority, names, namespace: "system", now };
  const secret = (await renewedIdentity(undefined, at)) as LiveObject;
  expect(await renewedIdentity(secret, { ...at, authority: await createAuthority(now) })).toBeDefined();
  expect(await renewedIdentity(secret, { ...at, names: ["127.0.0.1"] })).toBeDefined();
  const broken = { ...secret, data: { ...(secret["data"] as object), "tls.key": "" } };
  expect(identityIn(broken)).toBeUndefined();
  expect(await renewedIdentity(broken, at)).toBeDefined();
});
