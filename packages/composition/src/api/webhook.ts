import { object } from "../api-schema/object.ts";
import { custom, name, required, type Schema, text, textThat } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { TIMEOUT, TIMEOUT_RULE } from "./duration.ts";
import type { WrittenWebhook } from "./written.ts";

/** Without a user, a query or a fragment: a URL is printed in messages, and must not contain a secret. */
const URL_PATTERN = "^https://[^/@?#\\s]+(/[^?#\\s]*)?$";
const HTTPS_URL = new RegExp(URL_PATTERN, "u");

const PORT: Schema<number | bigint> = custom(
  { type: "integer", format: "int32", minimum: 1, maximum: 65_535 },
  (value, owner, field) => {
    const port = owner.integer(field, value);
    if (port !== undefined && (port < 1 || port > 65_535)) owner.error("Invalid", field, "is not a port, 1 to 65535");
  },
);

const SECRET_REF = object<{ namespace: string; name: string }>({
  namespace: required(name(63), "the namespace of the Secret"),
  name: required(name(), "the name of the Secret"),
});

const SERVICE = object<NonNullable<WrittenWebhook["service"]>>({
  namespace: required(name(63), "the namespace of the Service"),
  name: required(name(63), "the name of the Service"),
  path: textThat({ ...text(1024).openApi, pattern: "^/[^?#\\s]*$" }, (path) =>
    /^\/[^?#\s]*$/u.test(path) ? undefined : "must begin with / and have no query",
  ),
  port: PORT,
});

/** The server of a function, as the webhooks of Kubernetes name theirs: by `url`, or by `service`. */
export const WEBHOOK: Schema<WrittenWebhook> = object<WrittenWebhook>(
  {
    url: textThat({ ...name(2048).openApi, pattern: URL_PATTERN }, (url) =>
      HTTPS_URL.test(url) && URL.canParse(url)
        ? undefined
        : "must be an https:// URL without a user, a query or a fragment, such as https://functions.example.org/db",
    ),
    service: SERVICE,
    caBundle: textThat({ ...text(1_048_576).openApi, format: "byte" }, (bundle) =>
      isCertificates(bundle) ? undefined : "is not base64 of PEM certificates (-----BEGIN CERTIFICATE-----)",
    ),
    credentials: object<NonNullable<WrittenWebhook["credentials"]>>({
      secretRef: required(SECRET_REF, "the namespace and name of the Secret"),
    }),
    timeout: TIMEOUT,
  },
  {
    rules: [TIMEOUT_RULE, ["has(self.url) != has(self.service)", "a webhook needs either url or service"]],
    check(webhook) {
      const [url, service] = [webhook.value("url"), webhook.value("service")];
      if (isGiven(url) && isGiven(service)) {
        webhook.error("Invalid", "service", "cannot be combined with url; a webhook has one server");
      } else if (!isGiven(url) && !isGiven(service)) {
        webhook.error("Required", "url", "is missing; give the https:// URL of the function, or service");
      }
    },
  },
);

function isCertificates(base64: string): boolean {
  try {
    return atob(base64).includes("-----BEGIN CERTIFICATE-----");
  } catch {
    return false;
  }
}

function isGiven(value: ReturnType<FieldReader["value"]>): boolean {
  return value !== undefined && value !== null;
}
