import { type Type, URL_TYPE } from "../values/type.ts";
import { CelMap, Extension, Failure, List } from "../values/value.ts";
import { visitText } from "../values/visit.ts";
import type { Define } from "./define.ts";

/** The URL library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-url-library */
export function defineUrls(define: Define): void {
  define("isURL", "(string) bool", (text: string) => Url.parse(text) !== undefined);
  define("url", "(string) URL", (text: string) => Url.parse(text) ?? new Failure("URL parse error"));
  define("getScheme", "URL.() string", (url: Url) => url.scheme);
  define("getHost", "URL.() string", (url: Url) => url.host);
  define("getHostname", "URL.() string", (url: Url) => url.hostname);
  define("getPort", "URL.() string", (url: Url) => url.port);
  define("getEscapedPath", "URL.() string", (url: Url) => url.path);
  define("getQuery", "URL.() map<string, list<string>>", (url: Url) => url.query());
}

// JavaScript's URL drops default ports and normalizes paths. Go does not, so the parts come from the text.
const FORM =
  /^(?:([a-z][a-z0-9+.-]*):(?:\/\/(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#:@[\]]*)(?::([0-9]*))?)?)?(\/[^?]*|)(?:\?(.*))?$/is;

/** A URL in an expression: absolute, or a path from the root. */
class Url extends Extension {
  readonly type: Type = URL_TYPE;
  readonly text: string;
  readonly scheme: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly #search: string;

  constructor(text: string, parts: readonly (string | undefined)[]) {
    super();
    const [scheme = "", hostname = "", port = "", path = "", search = ""] = parts;
    this.text = text;
    this.scheme = scheme.toLowerCase();
    this.hostname = hostname.replace(/^\[(.*)\]$/, "$1");
    this.port = port;
    // Go reads a request's URI, which has no fragment.
    this.path = path.replaceAll("#", "%23");
    this.#search = search;
  }

  get host(): string {
    const hostname = this.hostname.includes(":") ? `[${this.hostname}]` : this.hostname;
    return this.port === "" ? hostname : `${hostname}:${this.port}`;
  }

  equals(other: Extension): boolean {
    return other instanceof Url && this.text === other.text;
  }

  query(): CelMap {
    visitText(this.#search);
    const values = Map.groupBy(new URLSearchParams(this.#search), ([key]) => key);
    return new CelMap(new Map([...values].map(([key, pairs]) => [key, new List(pairs.map(([, value]) => value))])));
  }

  static parse(text: string): Url | undefined {
    visitText(text);
    if (/[\u0000-\u001f\u007f]/.test(text)) return undefined;
    const parts = FORM.exec(text);
    if (parts === null || (parts[1] === undefined && !text.startsWith("/"))) return undefined;
    const [, , host = "", , path = ""] = parts;
    if (/[\s"<>\\^`{|}]/.test(host) || /%(?![0-9a-fA-F]{2})/.test(host + path)) return undefined;
    return new Url(text, parts.slice(1));
  }
}
