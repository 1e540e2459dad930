// An OpenID provider for tests: panva's certified oidc-provider, with its own pages for login and
// consent. Prints its issuer when it listens. PUT /test/account sets the claims of a login, and
// POST /test/rotate replaces the signing key.
import http from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';

const [library, clientId, clientSecret, redirectUri] = process.argv.slice(2);
const { default: Provider } = await import(library);
const accounts = new Map();

function newKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'ES256' };
}

function build(issuer) {
  return new Provider(issuer, {
    clients: [{
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      id_token_signed_response_alg: 'ES256',
    }],
    claims: {
      openid: ['sub', 'groups'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name'],
    },
    jwks: { keys: [newKey()] },
    cookies: { keys: ['only for tests'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...accounts.get(sub) }),
    }),
  });
}

let handle;
const server = http.createServer((request, response) => {
  if (request.url === '/test/rotate') {
    handle = build(issuer).callback();
    response.end();
  } else if (request.url === '/test/account') {
    let body = '';
    request.on('data', (part) => { body += part; });
    request.on('end', () => {
      const { login, ...claims } = JSON.parse(body);
      accounts.set(login, claims);
      response.end();
    });
  } else {
    handle(request, response);
  }
});
let issuer;
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  handle = build(issuer).callback();
  console.log(issuer);
});
// Ends with the tests, also when they are killed.
process.stdin.on('end', () => process.exit()).resume();
