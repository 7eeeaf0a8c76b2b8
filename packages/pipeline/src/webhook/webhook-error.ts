import { CodedError } from "@xfn/errors";
/**
 * - `ConnectFailed`: no connection to the server
 * - `AddressRefused`: the URL leads to an address that webhooks cannot have, such as a cloud metadata service
 * - `CertificateRefused`: the server's certificate is not trusted
 * - `BadStatus`: the status is not 200
 * - `BadContentType`: the response is neither JSON nor YAML, or is compressed
 * - `TooLarge`: the response is larger than the caller accepts
 * - `ExcessiveLoad`: the server sent far more protocol data than its response needs
 * - `Truncated`: the connection ended before the response did
 * - `Timeout`: the whole response did not arrive in time
 */
export type WebhookErrorCode = keyof typeof RETRYABLE;

const RETRYABLE = {
  ConnectFailed: true,
  AddressRefused: false,
  CertificateRefused: false,
  BadStatus: false,
  BadContentType: false,
  TooLarge: false,
  ExcessiveLoad: false,
  Truncated: true,
  Timeout: true,
} as const;

/** The details of a failed call. */
interface WebhookErrorOptions extends ErrorOptions {
  /** Default: by the code. */
  readonly retryable?: boolean;
  /** Default: false. */
  readonly undelivered?: boolean;
}

/** A failed call of a webhook. The message never quotes the response, which can contain secrets. */
export class WebhookError extends CodedError<WebhookErrorCode> {
  override readonly name = "WebhookError";
  /** Whether the server cannot have received the request. */
  readonly undelivered: boolean;

  constructor(code: WebhookErrorCode, message: string, options: WebhookErrorOptions = {}) {
    super(code, message, { cause: options.cause, retryable: options.retryable ?? RETRYABLE[code] });
    this.undelivered = options.undelivered === true;
  }
}
