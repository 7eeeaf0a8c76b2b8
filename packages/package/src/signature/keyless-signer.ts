import type { TrustMaterial } from "@sigstore/verify";
import { messageOf } from "@xfn/errors";
import { isObject, textAt } from "@xfn/json";
import { RE2JS } from "re2js";
import { SignatureError } from "../errors/signature-error.ts";
import type { Signer } from "./authority.ts";
import { readJson } from "./read-json.ts";
import type { SignedFile } from "./signed-file.ts";

/** A person or workload that signs with a certificate of Fulcio. Regular expressions are RE2, and match as a whole. */
export interface SignerIdentity {
  /** The issuer of the signer's token, as the certificate has it. */
  readonly issuer?: string | undefined;
  readonly issuerRegExp?: string | undefined;
  /** The subject alternative name of the certificate: an email address or a URI. */
  readonly subject?: string | undefined;
  readonly subjectRegExp?: string | undefined;
}

/** Whom to trust without a key. */
export interface KeylessTrust {
  readonly identities: readonly SignerIdentity[];
  /** A `trusted_root.json` of Sigstore: its certificate authorities, transparency logs and time stamp authorities. */
  readonly trustedRoot: Uint8Array;
  /** Whether certificates need no entry in a log of certificates. */
  readonly ignoreSct: boolean;
}

/** The media type, up to the version (https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_trustroot.proto). */
const TRUSTED_ROOT = "application/vnd.dev.sigstore.trustedroot";

/**
 * Accepts signatures whose certificate a trusted authority issued to one of the identities, while it was valid. The
 * time comes from a transparency log or a time stamp authority. Makes no request.
 *
 * @throws {SignatureError} `InvalidIdentity` or `InvalidRoot`
 */
export async function keylessSigner({ identities, trustedRoot, ignoreSct }: KeylessTrust): Promise<Signer> {
  const matchers = identities.map((identity, index) => matcherOf(identity, `identities[${index}]`));
  const [{ bundleFromJSON }, { TrustedRoot }, { toSignedEntity, toTrustMaterial, Verifier }] = await Promise.all([
    import("@sigstore/bundle"),
    import("@sigstore/protobuf-specs"),
    import("@sigstore/verify"),
  ]);
  const root = readJson(trustedRoot);
  if (textAt(root, "mediaType")?.startsWith(TRUSTED_ROOT) !== true)
    throw new SignatureError("InvalidRoot", "it is not a trusted_root.json of Sigstore");
  let material: TrustMaterial;
  try {
    material = toTrustMaterial(TrustedRoot.fromJSON(root));
  } catch (cause) {
    throw new SignatureError("InvalidRoot", messageOf(cause), { cause });
  }
  const verifier = new Verifier(material, { ctlogThreshold: ignoreSct ? 0 : 1 });
  return {
    problemOf({ bundle, form, payload }: SignedFile): string | undefined {
      if (!isObject(bundle)) return "it has no certificate";
      try {
        const entity = toSignedEntity(bundleFromJSON(bundle), form === "claim" ? payload : undefined);
        const { subjectAlternativeName: subject = "", extensions: { issuer = "" } = {} } =
          verifier.verify(entity).identity ?? {};
        if (matchers.some((matches) => matches(issuer, subject))) return undefined;
        return `${JSON.stringify(subject)} of the issuer ${JSON.stringify(issuer)} signed it, which is none of the identities`;
      } catch (error) {
        return `its certificate or log entry is not valid: ${messageOf(error)}`;
      }
    },
  };
}

type Matcher = (issuer: string, subject: string) => boolean;

function matcherOf(identity: SignerIdentity, path: string): Matcher {
  const issuer = testOf(identity, "issuer", path);
  const subject = testOf(identity, "subject", path);
  return (theIssuer, theSubject) => issuer(theIssuer) && subject(theSubject);
}

/** If both a text and an expression are given, both must match. */
function testOf(identity: SignerIdentity, field: "issuer" | "subject", path: string): (text: string) => boolean {
  const [exact, expression] = [identity[field], identity[`${field}RegExp`]];
  if (!exact && !expression) throw invalidIdentity(`${path} has neither ${field} nor ${field}RegExp`);
  const pattern = expression ? compile(expression, `${path}.${field}RegExp`) : undefined;
  return (text) => text !== "" && (!exact || text === exact) && (pattern === undefined || pattern.matches(text));
}

function compile(expression: string, path: string): RE2JS {
  try {
    return RE2JS.compile(expression);
  } catch (cause) {
    throw invalidIdentity(`${path}: ${messageOf(cause)}`, cause);
  }
}

function invalidIdentity(problem: string, cause?: unknown): SignatureError {
  return new SignatureError("InvalidIdentity", problem, { cause });
}
