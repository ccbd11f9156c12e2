"""What labels are called, in fourteen languages and more: phrases by kind, apart by bars, in small letters.

A phrase of several words is also found joined by hyphens, underscores or nothing: `date of birth`, `dateOfBirth`.
"""

from collections.abc import Mapping


def split_words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


PHRASES: Mapping[str, str] = {
    "password": (
        "rootpw|bindpw|dbpw|userpw|adminpw|ldappw|mailpw|wi fi key|wifi key|wlan schlüssel|wlan code|wifi code|code wifi|clé wifi|clé wpa|chiave wifi|código wifi|inlogcode|暗号キー|"
        "password|passwords|passwd|pwd|passphrase|pass phrase|passcode|pass code|psw|passwort|passworts|passwörter|kennwort|losungswort|mot de "
        "passe|mots de passe|mdp|contraseña|contrasena|contraseñas|clave|clave de acceso|parola d'ordine|parola|parolă|senha|senhas|"
        "palavra passe|wachtwoord|wachtwoorden|paswoord|hasło|haslo|hasła|hasłem|haseł|пароль|пароля|паролем|паролю|пароли|密码|密碼|口令|"
        "パスワード|合言葉|şifre|sifre|şifresi|şifrem|şifreniz|parolam|parolası|비밀번호|패스워드|암호|كلمة المرور|كلمة السر|كلمة مرور|lösenord|"
        "adgangskode|passord|salasana|heslo|jelszó|jelszava|identified by|şifreyi|şifrenizi|şifremi|şifreni|parolayı|parolamı|κωδικός πρόσβασης|סיסמה|mật khẩu|kata sandi|รหัสผ่าน|पासवर्ड|비번|パスコード|passphrasen|lösenordet|lösenordets|lösenordsfras|passordet|adgangskoden|hesla|heslem|hasłu|паролі|паролем|κωδικός|गुप्तकोड|parola chiave|parole chiave|palabra clave de acceso|palavra chave|pre shared key|preshared key|network key|wpa key|الرقم السري|كلمتا المرور|şifreler"
    ),
    "password_sign": "ww|pass|pw|passwrd|pword|psswd|psk",
    "pin_sign": "code|saisissez le code|entrez le code|utilisez le code|introduce el código|introduzca el código|ingrese el código|ingresa el código|usa el código|inserisci il codice|usa il codice|digite o código|insira o código|use o código|gebruik code|gebruik de code|voer code|voer de code|wpisz kod|użyj kodu|podaj kod|gib den code|geben sie den code|verwenden sie den code|nutze den code|use code|enter code|enter the code|the code|der code|le code|el código|il codice|mi código|mio codice|meu código",
    "secret_sign": "session|sess|key|keys|auth|salt|hmac|hmac key|schlüssel|chiave|chave|klucz|ключ|密匙",
    "secret": (
        "zugangsschlüssel|clé privée|clé de chiffrement|clave privada|私钥|私鑰|시크릿 키|시크릿키|"
        "erişim belirteci|erişim anahtarı|belirteç|jeton api|jeton d'api|token di sessione|токен api|एपीआई कुंजी|गुप्त कुंजी|कुंजी|टोकन|एक्सेस टोकन|clé d'accès|clave de acceso api|secret|secrets|secret key|api key|apikey|api token|api secret|access token|refresh token|auth token|id token|bearer token|token|tokens|"
        "client secret|consumer secret|app secret|secret access key|access key|signing key|signing secret|webhook secret|encryption key|"
        "master key|private key|account key|shared access key|storage key|shared key|license key|licence key|credential|credentials|auth key|"
        "personal access token|deploy key|service key|service role key|application key|subscription key|instrumentation key|"
        "sas token|sig|x amz signature|zugriffsschlüssel|api schlüssel|geheimschlüssel|geheimer schlüssel|zugangstoken|zugriffstoken|clé api|clé d'api|clé secrète|jeton|"
        "jeton d'accès|clave api|clave de api|clave secreta|token de acceso|chiave api|chiave segreta|token di accesso|chave de api|chave api|chave da api|"
        "chave secreta|token de acesso|api sleutel|geheime sleutel|toegangstoken|klucz api|tajny klucz|klucz tajny|token dostępu|ключ api|api ключ|секретный ключ|"
        "токен|токен доступа|секрет|api密钥|api 密钥|密钥|令牌|访问令牌|apiキー|シークレット|シークレットキー|トークン|アクセストークン|api anahtarı|gizli anahtar|"
        "api 키|비밀 키|토큰|액세스 토큰|مفتاح api|رمز الوصول|المفتاح السري|api nyckel|clau api|秘密鍵|秘密键|共有鍵"
    ),
    "pin": (
        "keypad|lockbox|ログイン用コード|ログインコード|登录码|登入码|로그인 코드|"
        "passcode|pass code|one time passcode|puk|puk code|confirmation code|keypad code|lockbox code|safe combination|lock combination|einmalcode|freischaltcode|aktivierungscode|code confidentiel|code à usage unique|code de validation|code sms|code de la porte|code de l'alarme|código de un solo uso|código sms|código de la alarma|codice monouso|codice sms|codice allarme|codice porta|código de uso único|código de acesso|código do alarme|eenmalige code|toegangscode|deurcode|kod jednorazowy|kod sms|kod dostępu|kod do drzwi|kod do alarmu|kod do domofonu|解錠コード|ロック番号|动态码|解锁码|확인코드|확인 코드|код доступа|одноразовый код|код из sms|"
        "two factor code|two factor|second factor code|mfa pin|2fa pin|pin|pin code|pincode|pin number|geheimzahl|pin nummer|code pin|code secret|código pin|codice pin|pinkod|kod pin|pin kodu|пин|пин код|pin码|密码pin|暗証番号|핀번호|핀 번호|"
        "الرقم السري|atm pin|your code|login code|sms code|access code|door code|gate code|entry code|alarm code|safe code|lock code|unlock code|backup code|recovery code|sign in code|ihr code|zugangscode|türcode|code d'accès|votre code|su código|código de acceso|il tuo codice|codice di accesso|seu código|uw code|twój kod|ваш код|one time code|one time password|otp|otp code|totp|verification code|2fa code|mfa code|authentication code|bestätigungscode|sicherheitscode|tan|"
        "mtan|code de vérification|code de confirmation|código de verificación|codice di verifica|código de verificação|"
        "verificatiecode|kod weryfikacyjny|код подтверждения|код из смс|验证码|驗證碼|認証コード|確認コード|doğrulama kodu|인증번호|인증 코드|رمز التحقق|digicode|número secreto|codice segreto|codice pin|numero segreto|clave numérica|verifieringskod|säkerhetskod|pin kod|pinkoden|engangskode|bekræftelseskode|ověřovací kód|pin kód|код підтвердження|пін код|onay kodu|onay kodunuz|pin kodum|पिन|ओटीपी|सत्यापन कोड|접속 코드|비밀 코드|รหัสยืนยัน|mã xác nhận|κωδικός επαλήθευσης|קוד אימות"
    ),
    "card_security_code": (
        "digits on the back|ziffern hinten|ziffern auf der rückseite|chiffres au dos|dígitos de atrás|dígitos del reverso|cifre sul retro|dígitos no verso|dígitos atrás|cijfers achterop|cyfry z tyłu|裏面の3桁|裏面3桁|背面后三位|뒷면 3자리|뒷면 세 자리|"
        "prüfnummer|veiligheidscode|kod zabezpieczający|カード確認番号|背面三位数|three digit code|3 digit code|código de verificación de la tarjeta|"
        "सीवीवी|सीवीसी|सुरक्षा कोड|セキュリティ番号|보안코드|安全碼|cryptogramme visuel|código cvv|kartenprüfziffer|код на обороте|cvv|cvv2|cvc|cvc2|csc|cvn|card verification|card verification code|card verification value|security code|prüfziffer|kartenprüfnummer|cryptogramme|code de sécurité|"
        "código de seguridad|codice di sicurezza|código de segurança|beveiligingscode|kod bezpieczeństwa|код безопасности|安全码|"
        "セキュリティコード|güvenlik kodu|보안 코드|رمز الأمان"
    ),
    "date_of_birth": (
        "bday|nació|nasceu|urodziła się|urodził się|na świat|zur welt|태어났|태어난|"
        "ddn|né à|née à|né en|née en|nacido en|nacida en|nato a|nata a|nascido a|nascida a|生于|日生|일생|geb datum|data ur|"
        "fecha nacimiento|data nascimento|data nascita|date naissance|patient dob|تاريخ الولادة|تاريخ ولادة|يوم الميلاد|مواليد|出生年月|출생일|doğum|dob|d o b|date of birth|birth date|birthdate|birthday|birth day|was born on|am born on|i was born|born on|born|geboren am|geboren|geb|geburtsdatum|geburtstag|né le|née le|date de naissance|"
        "naissance|fecha de nacimiento|fecha nac|fecha de nac|f nac|cumpleaños|d naissance|anniversaire|compleanno|aniversário|verjaardag|urodziny|nacido el|nacida el|nací el|nacimiento|data di nascita|nato il|nata il|nascita|data de nascimento|nascido em|nascida em|nasci em|nascimento|"
        "geboortedatum|geboren op|data urodzenia|urodzony|urodzona|urodziłem się|urodziłam się|ur|дата рождения|родился|родилась|день рождения|出生日期|出生于|生日|出生|"
        "生年月日|生まれ|誕生日|doğum tarihi|doğum günü|생년월일|생일|تاريخ الميلاد|تاريخ ميلاد|doğum tarihim|doğum günüm|doğumluyum|जन्म तिथि|जन्मतिथि|जन्म तारीख|जन्मदिन|född den|född|datum narození|narozen|narozena|narodil jsem se|narodila jsem se|дата народження|народився|народилась|народилася|født den|født|syntymäaika|ημερομηνία γέννησης|תאריך לידה|วันเกิด|ngày sinh|tanggal lahir|születési dátum|data nașterii|födelsedatum|fødselsdato"
    ),
    "passport": (
        "travel document|travel document number|reisedokument|document de voyage|documento de viaje|documento di viaggio|documento de viagem|reisdocument|dokument podróży|проездной документ|旅行证件|旅行証明書|여행증명서|seyahat belgesi|وثيقة السفر|passport|passport number|passport no|reisepass|reisepassnummer|passnummer|pass nr|passeport|pasaporte|passaporto|passaporte|paspoort|paspoortnummer|"
        "paszport|paszportu|паспорт|паспорта|загранпаспорт|护照|護照|护照号|护照号码|パスポート|パスポート番号|旅券番号|pasaport|여권|여권번호|جواز السفر|جواز سفر|رقم الجواز|पासपोर्ट|číslo pasu|cestovní pas|pasnummer|pasnr|passinummer|nomor paspor|hộ chiếu|หนังสือเดินทาง|διαβατήριο|דרכון|útlevélszám|pașaport|номер паспорта|серия и номер паспорта"
    ),
    "driving_licence": (
        "dln|license no|carné de conducir|permiso de conducción|免許番号|"
        "driver licence|driver licence number|driver licence no|driver license no|permis conduire|licencia conducir|patente guida|carteira motorista|driver's permit|führerschein nr|numéro de permis|número de licencia|numero patente|número da carta de condução|водительского удостоверения|права номер|ड्राइविंग लाइसेंस|चालक लाइसेंस|ड्राइवर लाइसेंस|運転免許証番号|sürücü belgesi no|運転免許番号|면허번호|면허 번호|driver's license|drivers license|driver license|driver's licence|drivers licence|driving licence|driving license|licence number|license number|dl|dl number|dl no|"
        "führerschein|führerscheinnummer|permis de conduire|permis|permiso de conducir|carnet de conducir|licencia de conducir|patente di guida|patente|"
        "carta de condução|carteira de motorista|cnh|habilitação|rijbewijs|rijbewijsnummer|prawo jazdy|prawa jazdy|водительское удостоверение|водительские права|"
        "водительских прав|驾驶证|驾照|驾驶证号|運転免許|運転免許証|免許証番号|ehliyet|sürücü belgesi|운전면허|운전면허번호|رخصة القيادة|رخصة قيادة"
    ),
    "national_id": (
        "número de identidad|"
        "id no|citizen id|identifikationsnummer|sv nummer|numéro de sécu|n° de sécu|sécu|id kaart|dowodu|在留カード番号|证件号|证件号码|社保号|社会保险号|외국인등록번호|신분증번호|신분증 번호|"
        "id card number|identity card no|numero identidad|numéro identité|id card no|previdenza sociale|numero previdenziale|assistência social|número de segurança social|segurança social|ubezpieczenia społecznego|社会保障号|社会保険番号|사회보장번호|sosyal güvenlik numarası|sosyal güvenlik|الضمان الاجتماعي|सामाजिक सुरक्षा|ssn|social|social security|social security number|social security no|social insurance number|social insurance|sin|national id|national id number|national identity|"
        "national identity number|national identification number|national insurance|national insurance number|nino|ni number|identity card|identity number|identity card number|id card|id number|personal id|personal identification number|"
        "government id|personalausweis|personalausweisnummer|ausweisnummer|ausweis|sozialversicherungsnummer|rentenversicherungsnummer|svnr|ahv|ahv nummer|"
        "sécurité sociale|numéro de sécurité sociale|nir|carte d'identité|carte nationale d'identité|cni|dni|nie|documento de identidad|documento nacional|cédula|cedula|curp|seguridad social|"
        "carta d'identità|codice fiscale|documento d'identità|cartão de cidadão|cartão do cidadão|bilhete de identidade|identidade|rg|bsn|burgerservicenummer|identiteitskaart|"
        "sofinummer|rijksregisternummer|pesel|dowód osobisty|dowodu osobistego|dowód|numer dowodu|снилс|удостоверение личности|身份证|身份证号|身份证号码|身分證|"
        "身分證字號|マイナンバー|個人番号|my number|personnummer|cpr|cpr nummer|cpr nr|henkilötunnus|hetu|fødselsnummer|tc kimlik|kimlik no|kimlik numarası|kimlik|주민등록번호|주민번호|"
        "رقم الهوية|الهوية الوطنية|الرقم القومي|आधार नंबर|kimlik numaram|rodné číslo|personnumret|ідентифікаційний номер|الهوية|بطاقة الهوية|aadhaar|aadhar|आधार|nric|hkid|emirates id|rodné číslo|oib|jmbg|cnp|egn|pps number|pps|ppsn|isikukood|teudat zehut|nik|ktp|cccd|cmnd|emso|amka|nn|niss|rrn|rč|ni|ci|cédula de identidad|kennitala|idno|cui|cnic|cc|рнокпп|іпн|bis|vid|epic|onderwijsnummer|upn"
    ),
    "tax_id": (
        "identifiant fiscal|identificación fiscal|número fiscal|id fiscal|identificativo fiscale|identificação fiscal|número de contribuinte|contribuinte|fiscaal nummer|fiscaal|belastingnummer|numer podatkowy|identyfikator podatkowy|налоговый номер|纳税人|納税者番号|納税者|税務番号|납세자|납세자 번호|세금 번호|टैक्स आईडी|टैक्स नंबर|कर पहचान|कर संख्या|التعريف الضريبي|رقم ضريبي|tin|itin|ein|acn|cvr|rnc|kmkr|unp|унп|voen|vöen|uscc|统一社会信用代码|nrt|dic|tax id|tax identification number|taxpayer id|taxpayer identification number|tax number|tax no|tax file number|tfn|employer identification number|steuer id|"
        "steueridentifikationsnummer|steuernummer|steuer identifikationsnummer|steueridnr|idnr|numéro fiscal|siret|siren|nif|cif|rfc|partita iva|p iva|cpf|cnpj|nip|regon|инн|огрн|vat|vat number|vat id|vat no|vat registration|"
        "ust id|ust idnr|ustidnr|umsatzsteuer id|tva|numéro de tva|btw|btw nummer|utr|abn|pan|pan card|pan number|gstin|税号|纳税人识别号|法人番号|vergi no|vergi kimlik|vergi numarası|사업자등록번호|"
        "الرقم الضريبي|पैन नंबर|पैन कार्ड|daňové identifikační číslo|dič|adószám|ідентифікаційний код|αφμ|rut|nipt|abgabenkontonummer|tax registration number|business number|bn|y tunnus|npwp|brn|едб|cf|pib|uen|ninea|vkn|ubn|ptin|atin|rif|mst|gst|gst number|vat registration number|st nr|anum|cuit|cuil|nit|ruc|ird|ird number"
    ),
    "health_id": (
        "patient n°|patient nº|patient #|patient n|paciente n|paciente nº|utente n|utente nº|utente n º|tessera n|nº de historia|n° de historia|患者id|환자 등록번호|등록번호|"
        "patient no|chart number|insurance policy number|policy number|policy no|member number|subscriber id|subscriber number|versicherten nr|versicherten nummer|kvnr|patienten id|patienten nr|d'assuré|numéro patient|numéro de patient|número de seguro|numero tessera|cartella clinica|do sus|de utente|prontuário|carteirinha|verzekeringsnummer|zorgpas|polisy|kartoteki|記号番号|患者番号|医保号|住院号|门诊号|患者编号|保单号|차트번호|차트 번호|"
        "ubezpieczenia zdrowotnego|被保険者番号|被保険者|診察券番号|参保号|assurance maladie|numéro d'assuré|seguro de salud|historia clínica|numero sanitario|cartão de saúde|verzekerdennummer|zorgverzekering|numer pacjenta|полиса|полиса омс|медицинского полиса|номер пациента|病历号|病人号|医療保険|カルテ番号|환자번호|환자 번호|hasta no|hasta numarası|رقم المريض|الملف الطبي|التأمين الصحي|स्वास्थ्य बीमा|बीमा संख्या|मरीज संख्या|medical file number|numéro de dossier médical|dossier médical|patientennummer|patiëntnummer|nhs|nhs number|nhs no|medicare|medicare number|medicare no|medicaid|medical record|medical record number|mrn|health insurance number|health insurance|health card|health card number|health number|patient id|"
        "patient number|insurance number|insurance id|member id|krankenversichertennummer|versichertennummer|versicherungsnummer|krankenversicherung|krankenkasse|carte vitale|tarjeta sanitaria|tessera sanitaria|"
        "número de utente|cartão do sus|cartão sus|cartão sns|cartão nacional de saúde|ubezpieczenia|полис|полис омс|医保卡|医保卡号|保険証番号|保険証|건강보험|sağlık sigortası|رقم التأمين|krankenversicherungsnummer|personal health number|phn|vnr|svnr|vsnr|numéro de mutuelle|mutuelle|número de afiliado|número de seguro médico|numero tessera sanitaria|zorgverzekeringsnummer|číslo pojištěnce|健康保険証番号|健康保険番号|医疗保险号|건강보험번호|sigorta numarası"
    ),
    "bank_account": (
        "acct num|account #|acct #|checking account|savings account|current account|deposit account|beneficiary account|bankkonto|girokonto|sparkonto|bankverbindung|rib|nib|cuenta corriente|cuenta de ahorros|conta poupança|spaarrekening|rachunku|rachunek bankowy|普通預金|当座預金|普通口座|当座口座|振込先|통장번호|통장 번호|"
        "iban or account|account or iban|iban or account number|account number|a c no|a c number|account no|account nr|account num|acct|acct no|acct number|bank account|bank account number|bank acct|acc no|kontonummer|konto|kontonr|konto nr|kto|numéro de compte|compte bancaire|n° de compte|compte|"
        "número de cuenta|cuenta bancaria|cuenta|numero di conto|conto corrente|conto|número da conta|conta corrente|conta bancária|conta|rekeningnummer|bankrekening|rekening|"
        "numer konta|nr konta|konto bankowe|rachunek|numer rachunku|номер счёта|номер счета|счёт|счет|расчётный счёт|расчетный счет|р с|银行账号|银行账户|账号|帐号|账户|銀行口座|口座番号|口座|hesap numarası|hesap no|hesap|"
        "계좌번호|계좌|رقم الحساب|الحساب البنكي|खाता संख्या|खाता नंबर|číslo účtu|účet|номер рахунку|kontonumret|kontonumber|számlaszám|cont bancar|tài khoản ngân hàng|เลขบัญชี|nomor rekening|αριθμός λογαριασμού|מספר חשבון|send it to account|to account|routing number|routing no|routing|aba|aba number|sort code|bsb|bankleitzahl|blz|transit number|ifsc|clabe|cbu|ccc|rtn|esr|bik|бик"
    ),
    "iban": "iban|iban number|رقم الآيبان|آيبان",
    "account_sign": "account|acct",
    "phone": (
        "contact|contact no|rückrufnummer|número de contacto|número de contato|recapito|recapito telefonico|fone|nr kontaktowy|numer kontaktowy|連絡先|tel kom|"
        "phone|phones|phone number|phone numbers|phone no|telephone|telephone number|tel|mobile|mobile number|mobile no|mobile phone|cell|cellphone|cell phone|cell number|whatsapp|fax|fax number|call me at|call me on|call me|text me at|text me|reach me at|reach me on|ring me|ring me on|ring me at|phone me on|dial me|"
        "my number is|my number|mój numer|mi número|meine nummer|meu número|il mio numero|mijn nummer|мой номер|contact number|telefon|telefonnummer|handy|handynummer|mobil|mobilnummer|mobiltelefon|rufnummer|telefonnr|ruf mich an|téléphone|portable|numéro de téléphone|mon numéro|tél|teléfono|móvil|movil|"
        "celular|telefono|cellulare|numero di telefono|telefone|telemóvel|telemovel|celular|telefoon|telefoonnummer|mobiel|gsm|numer telefonu|komórka|komórkowy|tel kom|телефон|телефона|"
        "тел|моб|мобильный|сотовый|номер телефона|电话|电话号码|電話號碼|手机|手机号|手机号码|联系电话|联系方式|電話|電話番号|携帯|携帯電話|携帯番号|telefon numarası|telefonum|telefonu|cep|cep telefonu|전화|전화번호|휴대폰|핸드폰|연락처|휴대전화|"
        "هاتف|الهاتف|رقم الهاتف|جوال|الجوال|رقم الجوال|موبايل|telefonnumret|puhelin|puhelinnumero|फोन नंबर|मोबाइल नंबर|फोन|मोबाइल|telefonní číslo|můj telefon|mobilní číslo|номер телефону|ring mig på|ring mig|nå mig på|bel me op|bel me|zadzwoń pod|zadzwoń|llámame al|llámame|chiamami al|chiamami|me liga no|liga para|appelez moi au|appelle moi au|ruf mich unter|erreichbar unter|позвони мне по номеру|звони|по номеру|điện thoại|เบอร์โทร|nomor telepon|nomor hp|τηλέφωνο|טלפון|telefonszám|打我电话|电话号码"
    ),
    "card": (
        "card|card number|card no|credit card|debit card|credit card number|cardnumber|cc number|kreditkarte|kreditkartennummer|kartennummer|karte|carte bancaire|carte de crédit|carte bleue|numéro de carte|carte|tarjeta|"
        "tarjeta de crédito|número de tarjeta|carta di credito|numero di carta|numero carta|carta|cartão|cartão de crédito|número do cartão|creditcard|creditcardnummer|kaartnummer|kaart|karta|karty|"
        "numer karty|карта|карты|карте|номер карты|银行卡|银行卡号|卡号|信用卡|信用卡号|クレジットカード|カード番号|カード|kart|kart numarası|kredi kartı|카드번호|신용카드|카드|بطاقة|رقم البطاقة|pan"
    ),
    "location": (
        "lat|latitude|point|lon|lng|long|longitude|gps|coordinates|coordinate|coords|location|position|geo|geolocation|latlng|latlong|breitengrad|längengrad|breite|länge|koordinaten|standort|coordonnées|position gps|coordenadas|ubicación|"
        "coordinate gps|posizione|coordenadas gps|localização|coördinaten|locatie|współrzędne|lokalizacja|координаты|широта|долгота|坐标|经度|纬度|位置|座標|緯度|経度|koordinatlar|konum|좌표|위도|경도|إحداثيات|home"
    ),
    "vehicle_id": (
        "reg no|kentekennummer|nr rejestracyjny|nr rej|車両番号|차번호|"
        "matrícula del coche|matrícula del vehículo|matrícula do carro|targa dell'auto|vehicle plate|car plate|car registration|vehicle registration|vehicle registration number|autokennzeichen|kfz kennzeichen|fahrzeugkennzeichen|plaque minéralogique|numéro de plaque|targa auto|número de matrícula|nummerplaat|वाहन नंबर|गाड़ी का नंबर|गाड़ी नंबर|वाहन संख्या|номер автомобиля|номерной знак|tablica rejestracyjna|numer tablicy|placa do carro|placa del coche|kentekenplaat|車のナンバー|ナンバー|번호판|차량 번호|araç plakası|لوحة السيارة|رقم السيارة|vin|vin number|vehicle identification number|chassis number|chassis no|fahrgestellnummer|fahrzeug identifikationsnummer|fin|numéro de châssis|número de chasis|numero di telaio|número do chassi|chassisnummer|numer vin|車台番号|车架号|"
        "license plate|licence plate|number plate|plate number|registration plate|plate no|kennzeichen|nummernschild|plaque d'immatriculation|immatriculation|matrícula|placa|targa|kenteken|numer rejestracyjny|rejestracja|госномер|номер машины|车牌|车牌号|車牌|ナンバープレート|plaka|차량번호|رقم اللوحة"
    ),
    "session": "session id|sessionid|session token|session key|session cookie|sid|cookie|sitzungs id|sitzungsid|phpsessid|jsessionid",
    "device_id": "आईएमईआई|gerätenummer|numéro de série de l'appareil|設備号|设备号|デバイスid|기기 id|cihaz no|imei|imei number|imsi|meid|iccid|udid|idfa|device id|geräte id",
    "seed_phrase": (
        "seed|seed words|recovery words|backup phrase|wiederherstellungswörter|"
        "frase di recupero|frase segreta|frase de recuperação|frase secreta|frase mnemônica|seed frase|fraza seed|fraza mnemoniczna|herstelfrase|seed zin|фраза восстановления|сид-фраза|мнемоническая фраза|恢复短语|助记短语|復元フレーズ|ニーモニック|시드 구문|시드 문구|니모닉|복구 구문|tohum ifadesi|gizli kelimeler|عبارة الاستعادة|العبارة السرية|सीड फ्रेज|सीड वाक्यांश|रिकवरी फ्रेज|पुनर्प्राप्ति वाक्यांश|merkphrase|seedphrase|phrase secrète|phrase mnémonique|seed phrase|recovery phrase|mnemonic|mnemonic phrase|secret phrase|wallet phrase|secret recovery phrase|seed words|wiederherstellungsphrase|phrase de récupération|frase semilla|frase de recuperación|frase seed|frase semente|"
        "herstelzin|fraza odzyskiwania|сид фраза|мнемоника|助记词|助記詞|リカバリーフレーズ|シードフレーズ|kurtarma ifadesi|복구 문구|عبارة الاسترداد"
    ),
}

ACRONYMS = split_words(
    "pin tan csc cvn sin nir cni dni nie rg bsn cpr oib cnp egn pps nik ktp cccd cmnd ahv hetu tin ein nif cif rfc nip vat tva btw utr abn pan "
    "rut nit ruc ird nhs mrn aba bsb blz tel cell gsm cep vin fin sid sig pw mdp psw clave pass home karte carte carta card kart conto "
    "conta compte cuenta hesap konto kimlik position location token tokens secret secrets cookie parola patente permis medicare routing "
    "mobil handy portable fax phone mobile breite länge placa targa nn ni ci cc cf bis vid cui bn brn pib rif mst cbu ccc rtn esr upn epic gst imei dl "
    "social point acn cvr rnc unp nrt dic phn vnr "
    "account acct keypad 등록번호 ww puk seed session sess contact recapito rib nib ddn dln kvnr passcode sécu dowodu polisy kartoteki rachunku"
)
"""Words that mean other things, too: they count only in capitals, or with a colon, an equals sign or "is" after them."""

IS_WORDS = split_words(
    "c'est is are was be ist sind lautet war est es son era é è sono são jest to brzmi wynosi это er zijn luidt olarak 是 为 為 は が هو هي je är sera será sarà wird är on"
)
NOW_WORDS = split_words(
    "now jetzt nun nu maintenant désormais ahora adesso ora agora teraz теперь сейчас artık şimdi अब الآن"
)
FILLERS = NOW_WORDS | split_words(
    "number numbers no nr num n nº numero número numéro nummer numer numaram numarası numaranız номер id code kod código codice the a my our your his her "
    "their of for on at in by with is are was be it me i please new old current full same following ist lautet meine mein deine ihre der die das von für am "
    "den est mon ma le la les du de des votre notre pour son es mi su el los para è il mio mia lo della del di é o os meu minha da do na em het mijn van "
    "voor op jest mój moja moje to dla мой моя мое моего это для у карты счета benim olan nb ref reference value string text plain key hash sensitive data "
    "primary secondary personal private home work mobile cell office direct card credit debit bank identity id's holder holders phone field visa mastercard "
    "amex american express und and et y e и ve oder or"
)
"""Words that may stand between a label and its value."""
NO_VALUES = split_words(
    "must should shall can cannot may min minimum max maximum least length long characters character chars digits expires expired expire expiry expiration "
    "until since before after page section port policy policies rules rule valid invalid issued changed updated created reset rotate ending ends last endet "
    "läuft expiré expira scade verloopt wygasa истекает count limit size ttl timeout age window per price cost costs fee usd eur about roughly "
    "approximately version muss mindestens zeichen doit caractères debe caracteres deve caratteri moet tekens musi znaków должен символов"
)
"""Words between a label and a number that say that it is no value."""
