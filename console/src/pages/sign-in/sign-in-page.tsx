// Every way in: link, password, identity provider, passkey, client secret. A link's secret is
// taken out of the address at once; one of a mail signs in only when a button is pressed, because
// mail programs open links by themselves.
import "./sign-in.css";
import { useCallback, useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate, useRouter } from "@tanstack/react-router";
import { ApiProblem, CONSOLE_HEADERS, api, read, type Schemas } from "~/api/client";
import { queryClient, sessionQuery, settingsQuery } from "~/api/queries";
import { BASE_PATH, CONSOLE_PATH } from "~/base-path";
import { Button } from "~/ui/button";
import { TextField } from "~/ui/field";
import { NewPasswordField } from "~/ui/new-password-field";
import { QueryView } from "~/ui/state";
import { wordsForCode, wordsForError } from "./failures";
import { nextPath, parseLink, type LinkPurpose, type SignInLink } from "./next";
import { hasPasskeys, signInByPasskey } from "./passkey";
import { t } from "~/messages/sign-in";

type SignInBody = Schemas["SignInInput"];
type Settings = Schemas["ConsoleSettings"];

const route = getRouteApi("/sign-in");

function takeLink(): SignInLink | null {
  const link = parseLink(window.location.hash);
  if (link) window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return link;
}

// The work of a form: one at a time, its failure in words, a wait where the service asks for one.
function useWork(): {
  isBusy: boolean;
  error: string | null;
  waitS: number;
  setError: (text: string | null) => void;
  run: (work: () => Promise<void>) => Promise<void>;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [waitS, setWaitS] = useState(0);
  useEffect(() => {
    if (waitS <= 0) return;
    const timer = setTimeout(() => setWaitS(waitS - 1), 1_000);
    return () => clearTimeout(timer);
  }, [waitS]);
  const run = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(wordsForError(failure));
      if (failure instanceof ApiProblem && failure.retryAfterS) setWaitS(failure.retryAfterS);
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, error, waitS, setError, run };
}

type Work = ReturnType<typeof useWork>;

function SubmitButton({ work, children, look = "primary" }: { work: Work; children: ReactNode; look?: "primary" | "normal" }) {
  const reason = work.waitS > 0 ? t("WaitWaitSS", { waitS: work.waitS }) : work.isBusy ? t("OneMoment") : undefined;
  return (
    <Button type="submit" look={look} disabledReason={reason}>
      {work.waitS > 0 ? t("WaitWaitSS", { waitS: work.waitS }) : children}
    </Button>
  );
}

// A form whose body goes to POST /session; asks for a code when the service wants one.
function SessionForm({
  work,
  onSignedIn,
  onRefused,
  body,
  children,
  submit,
}: {
  work: Work;
  // Instead of saying so here: what was given, without a code, is unknown or expired.
  onRefused?: () => void;
  onSignedIn: (session: Schemas["SessionInfo"]) => Promise<void>;
  body: SignInBody;
  children?: ReactNode;
  submit: string;
}) {
  const [needsCode, setNeedsCode] = useState(false);
  const [totp, setTotp] = useState("");
  const send = async () => {
    try {
      const given = totp ? { ...body, totp } : body;
      await onSignedIn(await read(api.POST("/session", { params: { header: CONSOLE_HEADERS }, body: given })));
    } catch (failure) {
      if (onRefused && !needsCode && isRefusedLink(failure)) {
        onRefused();
        return;
      }
      const asksForCode = failure instanceof ApiProblem && failure.code === "totp_required";
      if (!asksForCode || needsCode) throw failure;
      setNeedsCode(true);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void work.run(send);
  };
  return (
    <form className="form" onSubmit={onSubmit}>
      {children}
      {needsCode && (
        <TextField
          label={t("CodeOfYourAuthenticatorAppOr")}
          autoComplete="one-time-code"
          maxLength={32}
          required
          autoFocus
          value={totp}
          onChange={(event) => setTotp(event.target.value)}
        />
      )}
      <SubmitButton work={work}>{submit}</SubmitButton>
    </form>
  );
}

function MailForm({ work, canReset, onNotice }: { work: Work; canReset: boolean; onNotice: (text: string) => void }) {
  const [email, setEmail] = useState("");
  const ask = (path: "/session/link" | "/user/password/reset") => () =>
    work.run(async () => {
      const { message } = await read(api.POST(path, { params: { header: CONSOLE_HEADERS }, body: { email } }));
      onNotice(message ?? t("linkIsOnItsWayIf"));
    });
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        void ask("/session/link")();
      }}
    >
      <TextField label={t("EmailForLink")} type="email" autoComplete="email" required value={email} onChange={(event) => setEmail(event.target.value)} />
      <div className="form-actions">
        <SubmitButton work={work} look="normal">
          {t("MailMeLink")}
        </SubmitButton>
        {canReset && (
          <Button look="quiet" disabled={work.isBusy} onClick={() => void ask("/user/password/reset")()}>
            {t("IForgotMyPassword")}
          </Button>
        )}
      </div>
    </form>
  );
}

function Ways({ settings, work, onSignedIn, onNotice, next, needsLink }: {
  settings: Settings;
  work: Work;
  onSignedIn: (session: Schemas["SessionInfo"]) => Promise<void>;
  onNotice: (text: string) => void;
  next: string;
  needsLink: boolean;
}) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [clientId, setClientId] = useState("");
  const [clientSecret, setClientSecret] = useState("");
  const offers = (method: string) => settings.signIn.includes(method);
  const hasOtherWays = offers("password") || offers("oidc") || settings.mail;
  return (
    <>
      {offers("oidc") && (
        <a className="button button-normal" href={`${BASE_PATH}/session/oidc?returnTo=${encodeURIComponent(`/console${next}`)}`}>
          {t("SignInWithOidcName", { oidcName: settings.oidcName ?? "single sign-on" })}
        </a>
      )}
      {offers("passkey") && hasPasskeys() && (
        <Button disabled={work.isBusy} onClick={() => void work.run(async () => onSignedIn(await signInByPasskey()))}>
          {t("SignInWithPasskey")}
        </Button>
      )}
      {offers("password") && (
        <SessionForm work={work} onSignedIn={onSignedIn} body={{ email, password }} submit={t("SignIn")}>
          <TextField label={t("Email")} type="email" autoComplete="username" required value={email} onChange={(event) => setEmail(event.target.value)} />
          <TextField label={t("Password")} type="password" autoComplete="current-password" required value={password} onChange={(event) => setPassword(event.target.value)} />
        </SessionForm>
      )}
      {settings.mail ? (
        <details open={needsLink}>
          <summary>{t("GetLinkByMail")}</summary>
          <MailForm work={work} canReset={offers("password")} onNotice={onNotice} />
        </details>
      ) : needsLink ? null : (
        <p className="ink-2">{t.rich("ThisServiceSendsNoMailWhoever", { code: <code>longwire console link</code> })}</p>
      )}
      <details open={!hasOtherWays}>
        <summary>{t("UseClientIdAndSecret")}</summary>
        <SessionForm work={work} onSignedIn={onSignedIn} body={{ clientId, clientSecret }} submit={t("SignInWithSecret")}>
          <TextField label={t("ClientId")} autoComplete="off" required value={clientId} onChange={(event) => setClientId(event.target.value)} />
          <TextField label={t("ClientSecret")} type="password" autoComplete="off" required value={clientSecret} onChange={(event) => setClientSecret(event.target.value)} />
        </SessionForm>
      </details>
    </>
  );
}

function isRefusedLink(failure: unknown): boolean {
  return failure instanceof ApiProblem && (failure.status === 401 || failure.status === 404);
}

// A link that leads nowhere any more: how to get another one.
function Expired({ purpose, mail }: { purpose: LinkPurpose; mail: boolean }) {
  if (purpose === "token")
    return (
      <div className="sign-in-error" role="alert">
        <p>{t("ThisInvitationIsNoLongerValid")}</p>
        <p>{t("AskWhoeverInvitedYouToInvite")}</p>
      </div>
    );
  return (
    <div className="sign-in-error" role="alert">
      <p>{t("ThisLinkIsNoLongerValid")}</p>
      {mail ? (
        <p>{t("EnterYourAddressBelowToGet")}</p>
      ) : (
        <p>
          {t.rich("ThisServiceSendsNoMailWhoeverRunsItGets", { code: <code>longwire console link</code> })}
        </p>
      )}
    </div>
  );
}

// After a link: people who have no password yet can set one; a reset leads nowhere else.
function SetPassword({ email, onDone, canSkip }: { email: string; onDone: () => void; canSkip: boolean }) {
  const work = useWork();
  const [password, setPassword] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void work.run(async () => {
      await read(api.PUT("/user/password", { body: { new: password } }));
      onDone();
    });
  };
  return (
    <form className="form" onSubmit={submit}>
      <p>{canSkip ? t("SetPasswordSoThatYouCan") : t("SetNewPasswordYourOtherSessions")}</p>
      {/* Shown, so that people know what to sign in with, and read by password managers. */}
      <TextField label={t("YourAddressForSigningIn")} type="email" autoComplete="username" readOnly value={email} />
      <NewPasswordField value={password} error={work.error ?? undefined} onChange={setPassword} autoFocus />
      <div className="form-actions">
        <SubmitButton work={work}>{t("SetPassword")}</SubmitButton>
        {canSkip && (
          <Button look="quiet" onClick={onDone}>
            {t("NotNow")}
          </Button>
        )}
      </div>
    </form>
  );
}

// Of an invitation: a button accepts it, and signs in who has never signed in. Others sign in by their
// own means; by a link that was handed over they accept by that, too.
function Invitation({ token, work, onSignedIn, onSignIn, onExpired }: {
  token: string;
  work: Work;
  onSignedIn: (session: Schemas["SessionInfo"]) => Promise<void>;
  onSignIn: (groupId: string) => void;
  onExpired: (failure: unknown) => null;
}) {
  const [found, setFound] = useState<Schemas["InvitationReturn"] | null>(null);
  const [isTried, setTried] = useState(false);
  const isStarted = useRef(false);
  const { run } = work;
  const open = useCallback(
    async (accept: boolean) => {
      const opened = await read(api.POST("/invitation", { params: { header: CONSOLE_HEADERS }, body: { token, accept } })).catch(onExpired);
      if (opened === null) return;
      setFound(opened);
      if (opened.isSignedIn) await onSignedIn(await read(api.GET("/session")));
      else if (accept) setTried(true);
    },
    [onExpired, onSignedIn, token],
  );
  useEffect(() => {
    if (isStarted.current) return;
    isStarted.current = true;
    void run(() => open(false));
  }, [open, run]);
  if (!found) return null;
  const group = <strong>{found.groupName || found.groupId}</strong>;
  if (!isTried && !found.isAccepted)
    return (
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void work.run(() => open(true));
        }}
      >
        <p>{t.rich("YouAreInvitedToGroupGroup", { group })}</p>
        <SubmitButton work={work}>{t("Accept")}</SubmitButton>
      </form>
    );
  return (
    <div className="form">
      <p>{found.isAccepted ? <>{t.rich("YouHaveAcceptedInvitationToGroup", { group })}</> : <>{t.rich("YouHaveAccountSignInTo", { group })}</>}</p>
      <Button look="primary" onClick={() => onSignIn(found.groupId)}>
        {t("SignIn")}
      </Button>
    </div>
  );
}

type Step =
  | { name: "ways"; expired?: LinkPurpose }
  | { name: "confirm"; link: SignInLink }
  | { name: "invitation"; token: string }
  | { name: "password"; email: string; canSkip: boolean };

const TITLES: Readonly<Record<Step["name"], string>> = {
  ways: t("SignIn"),
  confirm: t("SignIn"),
  invitation: t("Invitation"),
  password: t("YouAreSignedIn"),
};

export function SignInPage() {
  const { next, error: providerError } = route.useSearch();
  const settings = useQuery(settingsQuery);
  const navigate = useNavigate();
  const router = useRouter();
  const work = useWork();
  const [notice, setNotice] = useState<string | null>(null);
  const [step, setStep] = useState<Step>({ name: "ways" });
  const isStarted = useRef(false);
  const goOn = useCallback(() => router.history.push(CONSOLE_PATH + nextPath(next)), [router, next]);

  // Of a link that is refused, the page says how to get another; other failures are said as they are.
  const expiring = useCallback(
    (purpose: LinkPurpose) => (failure: unknown) => {
      if (!isRefusedLink(failure)) throw failure;
      setStep({ name: "ways", expired: purpose });
      return null;
    },
    [],
  );

  const finish = useCallback(
    async (session: Schemas["SessionInfo"], link: SignInLink | null) => {
      queryClient.clear();
      queryClient.setQueryData(sessionQuery.queryKey, session);
      const email = session.user.email ?? "";
      const takesPasswords = (await queryClient.ensureQueryData(settingsQuery)).signIn.includes("password");
      if (link?.purpose === "reset") setStep({ name: "password", email, canSkip: false });
      else if (link && takesPasswords && !session.hasPassword && session.isFresh) setStep({ name: "password", email, canSkip: true });
      else goOn();
    },
    [goOn],
  );

  useEffect(() => {
    document.title = t("SignInLongwire");
    if (isStarted.current) return;
    isStarted.current = true;
    const link = takeLink();
    if (link?.purpose === "token") setStep({ name: "invitation", token: link.secret });
    else if (link && link.purpose !== "link") setStep({ name: "confirm", link });
    else if (link)
      void work.run(async () => {
        const session = await read(api.POST("/session", { params: { header: CONSOLE_HEADERS }, body: { link: link.secret } })).catch(expiring(link.purpose));
        if (session) await finish(session, link);
      });
    else if (providerError) {
      work.setError(wordsForCode(providerError));
      void navigate({ to: "/sign-in", search: { next }, replace: true });
    }
  }, [expiring, finish, navigate, next, providerError, work]);

  return (
    <main className="sign-in">
      <div className="sign-in-box card">
        <p className="brand">{t("longwire")}</p>
        <h1>{TITLES[step.name]}</h1>
        {work.error && step.name !== "password" && (
          <p className="sign-in-error" role="alert">
            {work.error}
          </p>
        )}
        {notice && <p role="status">{notice}</p>}
        {step.name === "confirm" && (
          <SessionForm work={work} body={{ link: step.link.secret }} submit={t("Continue")} onRefused={() => setStep({ name: "ways", expired: step.link.purpose })} onSignedIn={(session) => finish(session, step.link)}>
            <p>{t("YouHaveOpenedLinkToSign")}</p>
          </SessionForm>
        )}
        {step.name === "invitation" && (
          <Invitation
            token={step.token}
            work={work}
            onExpired={expiring("token")}
            onSignedIn={(session) => finish(session, { purpose: "token", secret: step.token })}
            onSignIn={(groupId) => {
              setStep({ name: "ways" });
              void navigate({ to: "/sign-in", search: { next: `/g/${groupId}/overview` }, replace: true });
            }}
          />
        )}
        {step.name === "password" && <SetPassword email={step.email} canSkip={step.canSkip} onDone={goOn} />}
        {step.name === "ways" && (
          <QueryView query={settings} skeletonRows={3}>
            {(found) => (
              <>
                {step.expired && <Expired purpose={step.expired} mail={found.mail} />}
                <Ways settings={found} needsLink={step.expired !== undefined && step.expired !== "token"} work={work} next={nextPath(next)} onNotice={setNotice} onSignedIn={(session) => finish(session, null)} />
              </>
            )}
          </QueryView>
        )}
      </div>
    </main>
  );
}
